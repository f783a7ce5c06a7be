/** Tests on a real ledger which sources of an adopted palace count as filed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { minedSources } from "../../../../src/memory/ledger/read/mined-sources.ts";
import type { Miner } from "../../../../src/protocol/filing.ts";
import { createLedger } from "../../../helpers/ledger-fixture.ts";

let folder: string;
let ledger: Database.Database;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  ledger = createLedger(join(folder, "ledger.sqlite3"));
});

afterEach(() => {
  ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

type Fields = Record<string, unknown>;
const MINED: Fields = { normalize_version: 2, source_mtime: 100.5, filed_at: "2024-03-05T10:00:00" };
const TALK: Fields = { ...MINED, ingest_mode: "convos", extract_mode: "exchange", convo_chunker_version: 2 };
const OLD_TALK: Fields = { normalize_version: 2, filed_at: "2024-03-05T10:00:00", ingest_mode: "convos" };

/** Inserts drawers as an adoption does. The source's row is made in the background. */
function put(sourceFile: string, rows: readonly Fields[], wing = "w"): void {
  const insert = ledger.prepare(
    "INSERT INTO drawer(id, wing, room, source_file, text, date_words, metadata) VALUES (?, ?, 'r', ?, '', '', ?)",
  );
  rows.forEach((fields, at) => insert.run(`${wing}${sourceFile}${at}`, wing, sourceFile, JSON.stringify(fields)));
}

function mark(sourceFile: string, mtime: number, sha256: string): void {
  ledger
    .prepare("INSERT INTO source (source_file, wing, mtime, sha256, drawers) VALUES (?, 'w', ?, ?, 1)")
    .run(sourceFile, mtime, sha256);
}

const found = (miner: Miner, below = "/p"): unknown[] =>
  minedSources(ledger, { wing: "w", miner, below }).rows.map(({ sourceFile, mtime }) => [sourceFile, mtime]);

const times = (rows: Fields, count: number): Fields[] => Array.from({ length: count }, () => rows);

test.each<[string, Miner, Fields[], unknown[]]>([
  ["rows of the miner", "projects", times(MINED, 2), [["/p/a", 100.5]]],
  ["as many rows as the rows say", "projects", times({ ...MINED, chunk_total: 2 }, 2), [["/p/a", 100.5]]],
  ["fewer rows than the rows say", "projects", times({ ...MINED, chunk_total: 3 }, 2), []],
  ["rows of an older form", "projects", [{ ...MINED, normalize_version: 1 }], []],
  [
    "rows of MemPalace 3.12's form, which are left alone",
    "projects",
    [{ ...MINED, normalize_version: 3 }],
    [["/p/a", 100.5]],
  ],
  ["rows without a form, added by hand", "projects", [{ filed_at: "2024", source_mtime: 100.5 }], []],
  ["rows without a time", "projects", [{ normalize_version: 2 }], []],
  ["rows of another miner", "projects", [TALK], []],
  [
    "several states of the file",
    "projects",
    [MINED, { ...MINED, source_mtime: 7 }],
    [
      ["/p/a", 7],
      ["/p/a", 100.5],
    ],
  ],
  ["office documents", "formats", [{ ...MINED, ingest_mode: "extract", extract_mode: "format" }], [["/p/a", 100.5]]],
  ["a project's rows, for office documents", "formats", [MINED], []],
  ["exchanges", "exchange", [TALK], [["/p/a", 100.5]]],
  ["exchanges without the way of extraction", "exchange", [{ ...TALK, extract_mode: undefined }], [["/p/a", 100.5]]],
  ["exchanges cut in an older way", "exchange", [{ ...TALK, convo_chunker_version: 1 }], []],
  ["exchanges of 3.3.6", "exchange", [OLD_TALK], [["/p/a", null]]],
  ["a file in which nothing was found", "exchange", [{ ...TALK, ingest_mode: "registry" }], [["/p/a", 100.5]]],
  ["exchanges, for memories", "general", [TALK], []],
  ["memories", "general", [{ ...TALK, extract_mode: "general" }], [["/p/a", 100.5]]],
  ["messages of a sweep", "exchange", [{ ...MINED, ingest_mode: "sweep" }], []],
])("MemPalace's rules decide whether a source counts as filed: %s (%s)", (_what, miner, rows, expected) => {
  put("/p/a", rows);
  expect(found(miner)).toEqual(expected);
});

test("only sources below the folder and of the wing are returned", () => {
  for (const file of ["/p/a", "/p/deep/b", "/p2/c", "/p", "/o/d"]) put(file, [MINED]);
  put("/p/e", [MINED], "other");
  expect(found("projects")).toEqual([
    ["/p/a", 100.5],
    ["/p/deep/b", 100.5],
  ]);
  expect(found("projects", "/")).toHaveLength(5);
});

test("a source does not count as mined if our filing record has a time or a hash for the source", () => {
  for (const file of ["/p/filed", "/p/half", "/p/taken"]) put(file, [MINED]);
  mark("/p/filed", 0, "aa");
  mark("/p/half", 100.5, "");
  mark("/p/taken", 0, "");
  expect(found("projects")).toEqual([["/p/taken", 100.5]]);
});

test("a filing record of a transcript's extracted memories does not mark the transcript's exchanges as filed", () => {
  put("/p/a", [TALK, { ...TALK, extract_mode: "general" }]);
  mark("/p/a\u001fgeneral", 100.5, "aa");
  expect([found("exchange"), found("general")]).toEqual([[["/p/a", 100.5]], []]);
});

test("minedSources lists many sources page by page, each source once", () => {
  const files = Array.from({ length: 450 }, (_none, at) => `/p/${String(at).padStart(3, "0")}`);
  for (const file of files) put(file, [MINED]);
  const seen: string[] = [];
  let pages = 0;
  for (let after: string | undefined; pages === 0 || after !== undefined; pages++) {
    const page = minedSources(ledger, { wing: "w", miner: "projects", below: "/p", after });
    seen.push(...page.rows.map(({ sourceFile }) => sourceFile));
    after = page.last;
  }
  expect([seen, pages]).toEqual([files, 3]);
});
