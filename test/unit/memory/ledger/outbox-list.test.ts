/** Tests which drawers the outbox sends again after the public palace was replaced. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";

let folder: string;
let file: string;
let writer: LedgerWriter;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  writer = new LedgerWriter(file, applyWrite);
});
afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

function waiting(): { id: string; seq: number }[] {
  const ledger = new Database(file, { readonly: true });
  const rows = ledger.prepare<[], { id: string; seq: number }>("SELECT id, seq FROM outbox").all();
  ledger.close();
  return rows;
}

/** Files a drawer with its vector, and sends it to the palace `target`. */
function sendTo(target: string): void {
  const peer = { agent: "a", door: "unix", uid: 0, pid: 1 };
  const params = { wing: "w", room: "r", content: "text" };
  writer.commit([{ key: "k", isRepeatable: true, method: "add_drawer", params, peer, requestId: "r", atMs: 1 }]);
  writer.storeVectors([{ row: 1, textVersion: 1, vector: new Float32Array([1, 0]) }], "model");
  writer.outbox.retarget(target);
  expect(waiting()).toHaveLength(1);
  writer.outbox.done(waiting());
  expect(waiting()).toEqual([]);
}

test.each([
  ["the same palace", "file:/p#1", "file:/p#1", 0],
  ["a folder whose collection was made again", "file:/p#1", "file:/p#2", 0],
  ["another folder", "file:/p#1", "file:/q#1", 1],
  ["a folder after a server", "http://h/t/d/c#1", "file:/p#1", 1],
  ["a server after a folder", "file:/p#1", "http://h/t/d/c#1", 1],
  ["a server whose collection was made again", "http://h/t/d/c#1", "http://h/t/d/c#2", 1],
])("%s gets a drawer again only if the drawer may be missing there", (_what, before, after, times) => {
  sendTo(before);
  writer.outbox.retarget(after);
  expect(waiting()).toHaveLength(times);
});
