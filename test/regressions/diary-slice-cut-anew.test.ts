/** If an update made a slice of a diary entry so long that it was cut again, reading and deleting the entry missed new slices. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findLogical, textOf } from "../../src/memory/drawer/logical.ts";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";

test("a diary entry is read and deleted whole if a slice of the entry was cut twice", () => {
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  const writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
  const reader = new SqliteLedgerReader(join(folder, "ledger.sqlite3"));
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const write = (method: string, params: Record<string, unknown>): Record<string, unknown> => {
    const call = { key: method, isRepeatable: true, method, params, peer, requestId: "r", atMs: 1_767_225_600_000 };
    const [done] = writer.commit([call]).outcomes;
    return (done?.outcome.ok === true ? done.outcome.value : done) as Record<string, unknown>;
  };
  const [head, tail] = ["a".repeat(800), "c".repeat(10)];
  const id = String(write("diary_write", { agent_name: "me", entry: `${head}b${tail}` })["entry_id"]);
  const longer = "b".repeat(2_000);
  write("update_drawer", { drawer_id: `${id}_chunk_000001`, content: longer });
  const found = findLogical(reader, id);
  expect(found && textOf(found)).toBe(head + longer);
  write("delete_drawer", { drawer_id: id });
  expect(reader.drawerCount()).toBe(0);
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true });
});
