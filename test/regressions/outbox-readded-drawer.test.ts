/** The outbox listed a re-added drawer before the drawer had its new vector. Without a model this stopped the outbox for good. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import type { WriteCall } from "../../src/memory/port/ledger.ts";

it("a drawer that was deleted and added again is in the outbox only once it has its new vector", () => {
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  const file = join(folder, "ledger.sqlite3");
  const writer = new LedgerWriter(file, applyWrite);
  const reader = new SqliteLedgerReader(file);
  let count = 0;
  const write = (method: string, params: Record<string, unknown>): { drawer_id: string } => {
    const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
    const call: WriteCall = {
      key: `k${++count}`,
      isRepeatable: true,
      method,
      params,
      peer,
      requestId: "r",
      atMs: Date.now(),
    };
    const outcome = writer.commit([call]).outcomes[0]?.outcome;
    if (outcome?.ok !== true) throw new Error("refused");
    return outcome.value as { drawer_id: string };
  };
  const embed = (): void => {
    const texts = reader.pendingTexts(0, 10);
    writer.storeVectors(
      texts.map(({ row, textVersion }) => ({ row, textVersion, vector: new Float32Array(384).fill(0.05) })),
      "m",
    );
  };
  try {
    const note = { wing: "w", room: "r", content: "there and back" };
    const { drawer_id: id } = write("add_drawer", note);
    embed();
    write("delete_drawer", { drawer_id: id });
    write("add_drawer", note);
    expect(reader.outbox.entries(10)).toEqual([]);
    embed();
    expect(reader.outbox.entries(10)).toMatchObject([{ id, record: { id, text: "there and back" } }]);
  } finally {
    reader.close();
    writer.close();
    rmSync(folder, { recursive: true });
  }
});
