/** If a client took more than a day to send a document in parts, the broker deleted the first parts and filed the rest. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import { SOURCE_PARTS_KEPT_MS } from "../../src/protocol/limits.ts";

let folder: string, writer: LedgerWriter;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
});
afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true });
});

function write(method: string, params: Record<string, unknown>, atMs: number): unknown {
  const peer = { agent: "a", door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${atMs}`, isRepeatable: true, method, params, peer, requestId: "r", atMs, findings: {} };
  const [done] = writer.commit([call]).outcomes;
  return done?.outcome.ok === true ? done.outcome.value : done?.outcome.error.message;
}

test("pruning keeps all parts of a document whose last part is new", () => {
  const part = (from: number, content: string, atMs: number): unknown =>
    write("source.part", { sourceFile: "/f", sending: "one", from, content }, atMs);
  const [first, second] = ["the beginning of it. ".repeat(10), "and its end. ".repeat(10)];
  part(0, first, 1);
  part(first.length, second, SOURCE_PARTS_KEPT_MS);
  writer.prune({ journalRetentionMs: 1e15, undoMs: 1e15, imagesBytes: 1e9 }, SOURCE_PARTS_KEPT_MS + 10);
  const parts = { sending: "one", length: first.length + second.length };
  const source = { wing: "w", room: "r", sourceFile: "/f", sha256: "s", mtime: 1, addedBy: "t" };
  const filed = write("source.replace", { ...source, parts }, SOURCE_PARTS_KEPT_MS + 20);
  expect(filed).toEqual({ drawers: 1, removed: 0 });
  const [drawer] = writer.tx.drawersOfSource("/f");
  expect(drawer?.text).toBe((first + second).trim());
});
