/** Taking back how a source was filed, and taking closets over from another palace, in a real ledger. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../src/engine/tools/apply.ts";
import { LedgerWriter } from "../../../src/ledger/write/writer.ts";

let folder: string, file: string, writer: LedgerWriter;
let clock = 1000;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  writer = new LedgerWriter(file, applyWrite);
});

afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true });
});

function write(agent: string, method: string, params: Record<string, unknown>): void {
  clock += 1000;
  const peer = { agent, door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${clock}`, isRepeatable: true, method, params, peer, requestId: "r", atMs: clock };
  const [done] = writer.commit([call]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
}

const undo = (agent: string): void => write("undoer", "memory.undo", { agent, sinceMs: 0, untilMs: clock });
const all = (sql: string): unknown[] => {
  const database = new Database(file, { readonly: true });
  const rows = database.prepare(sql).raw().all();
  database.close();
  return rows;
};
const fileSource = (agent: string, mtime: number, sha256: string): void =>
  write(agent, "source.replace", {
    ...{ wing: "w", room: "r", sourceFile: "/x.md", mtime, sha256, addedBy: "t" },
    content: `${sha256} of a document that is long enough to be one\n`.repeat(9),
  });
const sources = (): unknown[] => all("SELECT source_file, wing, mtime, sha256 FROM source");
const closet = (id: string, text: string) => ({
  ...{ id, text, metadata: { wing: "w", room: "r", source_file: "/x.md" } },
  vector: new Float32Array([1, 0]),
});

test("undo brings back how a source was filed, and one never filed before is filed again on the next run", () => {
  fileSource("a", 1, "first");
  fileSource("b", 2, "second");
  undo("b");
  expect(sources()).toEqual([["/x.md", "w", 1, "first"]]);
  undo("a");
  expect(sources()).not.toContainEqual(["/x.md", "w", 1, "first"]);
});

test("a closet of others comes once with its vector, again only when it differs", () => {
  const take = (text: string): number =>
    writer.closets.adopt({ rows: [closet("c1", text)], removed: [], model: undefined });
  expect([take("one"), take("one"), take("two")]).toEqual([1, 0, 1]);
  expect(all("SELECT id, text, vector IS NOT NULL FROM closet")).toEqual([["c1", "two", 1]]);
});
