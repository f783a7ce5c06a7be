/** Rows of headings in the ledger follow every change of a document's drawers, and keep nothing that was forgotten. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { openForWriting } from "../../../../src/memory/ledger/open.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import { headingsAbove } from "../../../../src/memory/text/headings.ts";

const RETENTION = { journalRetentionMs: 1e12, undoMs: 1e12, imagesBytes: 1e12 };
const FILLER = "The office opens at eight and closes when the last boat has left. ".repeat(14);
const HANDBOOK = `# Handbook\n\n## Zanzibar ferry\n\n${FILLER}\n\n${FILLER}\n\n## Trains\n\n${FILLER}\n\n${FILLER}`;

let folder: string;
let file: string;
let writer: LedgerWriter;
let keys = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headings-"));
  file = join(folder, "ledger.sqlite3");
  writer = new LedgerWriter(file, applyWrite, { headingsAbove });
});
afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true });
});

function write(method: string, params: Record<string, unknown>, findings?: unknown): Record<string, unknown> {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${++keys}`, isRepeatable: false, method, params, peer, requestId: "r", atMs: Date.now() };
  const [done] = writer.commit([{ ...call, findings }]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value as Record<string, unknown>;
}

function mined(content: string, sourceFile = "/p/handbook.md"): void {
  write("source.replace", { wing: "w", room: "r", sourceFile, content, sha256: "0", mtime: 1 });
}

/** Runs the background work to its end, and returns the distinct headings in the order of the drawers. */
function headings(): string[] {
  const moment = { wallMs: Date.now(), uptimeMs: 0, bootId: "" };
  while (writer.maintain(RETENTION, moment));
  const ledger = new Database(file, { readonly: true });
  const rows = ledger.prepare("SELECT text FROM heading ORDER BY row").pluck().all() as string[];
  ledger.close();
  return [...new Set(rows)];
}

const ALL = ["Handbook\nZanzibar ferry", "Handbook\nTrains"];

test("after background work the ledger has the headings of new and changed documents, and none of a deleted document", () => {
  mined(HANDBOOK);
  mined(HANDBOOK, "/p/handbook.py");
  expect(headings()).toEqual(ALL);
  mined(HANDBOOK.replace("Zanzibar", "Pemba"));
  expect(headings()).toEqual(["Handbook\nPemba ferry", "Handbook\nTrains"]);
  write("delete_by_source", { source_file: "/p/handbook.md", dry_run: false });
  expect(headings()).toEqual([]);
});

test("an undo brings the headings back, although the drawers come back in another order", () => {
  mined(HANDBOOK);
  const before = headings();
  const sinceMs = Date.now();
  write("delete_by_source", { source_file: "/p/handbook.md", dry_run: false });
  headings();
  const undone = write("memory.undo", { agent: "test", sinceMs, untilMs: Date.now() + 1 });
  expect(undone["restored"]).toBeGreaterThan(2);
  expect(headings().toSorted()).toEqual(before.toSorted());
});

test("forgetting a heading keeps the other headings of its document, and no byte of the heading is in the ledger", () => {
  mined(HANDBOOK);
  expect(headings()).toEqual(ALL);
  write("memory.forget", {}, { match: "Zanzibar" });
  writer.eraser.rewrite();
  expect(writer.eraser.cutLog()).toBe(true);
  expect(headings()).not.toEqual([]);
  expect(headings().join()).not.toContain("Zanzibar");
  expect(readFileSync(file).includes("Zanzibar")).toBe(false);
});

test("a drawer that gets another source leaves no heading in its old source", () => {
  mined(HANDBOOK);
  expect(headings()).toEqual(ALL);
  const ledger = new Database(file);
  ledger.exec("UPDATE drawer SET source_file = '/p/elsewhere.md' WHERE text LIKE '%Zanzibar%'");
  ledger.close();
  expect(headings()).toEqual(["Trains"]);
});

test("two notes with the same source get no headings", () => {
  const note = (content: string) => write("add_drawer", { wing: "w", room: "r", content, source_file: "README.md" });
  note("# Zanzibar\n\nThe ferry leaves at nine.");
  note("The office opens at eight.");
  expect(headings()).toEqual([]);
});

test("the documents of an older ledger get their headings in the background", () => {
  mined(HANDBOOK);
  headings();
  writer.close();
  const old = new Database(file);
  old.exec("DROP TRIGGER heading_gone; DROP TABLE heading; PRAGMA user_version = 19");
  old.close();
  openForWriting(file).close();
  writer = new LedgerWriter(file, applyWrite, { headingsAbove });
  expect(headings()).toEqual(ALL);
});
