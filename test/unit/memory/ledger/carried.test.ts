/** Tests how entries of Roampal's graphs are imported into the ledger, undone and forgotten. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { carriedEntries, graphPage } from "../../../../src/learning/import/roampal-graph.ts";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { SCHEMA_VERSION } from "../../../../src/memory/ledger/schema/schema.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import type { CarriedEntry } from "../../../../src/protocol/outcome.ts";

const IMPORTER = "palace outcome import";
const KNOWLEDGE = "knowledge_graph.json";

let folder: string;
let file: string;
let writer: LedgerWriter;
let clock = 1000;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  writer = new LedgerWriter(file, applyWrite);
});
afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

type More = { agent?: string; findings?: unknown; key?: string };

function write(method: string, params: Record<string, unknown>, more: More = {}): Record<string, unknown> {
  clock += 1000;
  const { agent = "ada", findings, key = `k${clock}` } = more;
  const peer = { agent, door: "unix", uid: 0, pid: 1 };
  const call = { key, isRepeatable: true, method, params, peer, requestId: "r", atMs: clock, findings };
  const [done] = writer.commit([call]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value as Record<string, unknown>;
}

const entry = (section: string, name: string, value: unknown): CarriedEntry => {
  return { at: [KNOWLEDGE, section, name], value: JSON.stringify(value) };
};

function bring(entries: CarriedEntry[], more: More & { isDry?: boolean } = {}): Record<string, unknown> {
  const { isDry = false, ...others } = more;
  const { journalled } = carriedEntries({ entries, isDry });
  return write("outcome.importGraph", journalled, { agent: IMPORTER, ...others, findings: entries });
}

function rows(sql: string): unknown[] {
  const ledger = new Database(file, { readonly: true });
  const found = ledger.prepare(sql).pluck().all();
  ledger.close();
  return found;
}

/** Returns the names of the entries. */
const held = (): unknown[] => rows("SELECT json_extract(id, '$[2]') FROM carried_graph ORDER BY id");

const forget = (findings: Record<string, unknown>): unknown => write("memory.forget", {}, { findings });

test("an entry of Roampal's graphs is added once, updated, and restored by undo; the journal does not contain the entry", () => {
  const first = [entry("routing_patterns", "zeppelin", { total: 1 }), entry("routing_patterns", "b", 1)];
  expect(bring(first, { isDry: true })).toEqual({ added: 2, updated: 0 });
  expect(held()).toEqual([]);
  expect(bring(first, { key: "one" })).toEqual({ added: 2, updated: 0 });
  expect(bring(first, { key: "one" })).toEqual({ added: 2, updated: 0 });
  expect(bring(first)).toEqual({ added: 0, updated: 0 });
  const sinceMs = clock + 1;
  expect(bring([entry("routing_patterns", "zeppelin", { total: 2 })])).toEqual({ added: 0, updated: 1 });
  expect(rows("SELECT arguments || result FROM journal WHERE instr(arguments || result, 'zeppelin') > 0")).toEqual([]);
  const taken = write("memory.undo", { agent: IMPORTER, sinceMs, untilMs: clock });
  expect(taken).toMatchObject({ reverted: 1, refused: 0, items: [{ kind: "carried", id: KNOWLEDGE }] });
  expect(rows("SELECT value FROM carried_graph ORDER BY id")).toEqual(["1", '{"total":1}']);
  expect(rows("SELECT result FROM journal WHERE instr(result, 'zeppelin') > 0")).toEqual([]);
});

test.each([
  ["zeppelin", { match: "Zeppelin in the port", words: ["zeppelin", "port", "zeppelin_port"] }],
  ["a_zeppelin_b::working_00000001", { match: "Zeppelin!", words: ["zeppelin"] }],
  ["a|zeppelin", { match: "Zeppelin!", words: ["zeppelin"] }],
  ["x", { match: "the Zeppelin", words: [] }, { problem_text: "why does the Zeppelin fly" }],
  ["x", { match: "Zeppelin!", words: ["zeppelin"] }, { solution_concepts: ["a_zeppelin"] }],
  ["x", { match: 'a "quote"\n', words: [] }, { contexts: [{ 'a "quote"\n': 1 }] }],
  ["working_00000001", { ids: ["history_00000001"] }],
  ["history_00000001::a_b", { ids: ["history_00000001"] }],
  ["x", { ids: ["patterns_00000001"] }, ["memory_bank_00000001"]],
  ["x", { ids: ["history_00000001"] }, { reason: "as (working_00000001), it says." }],
  ["book_0000000f_chunk_1", { ids: ["book_0000000f_chunk_1"] }],
  ["x", { ids: ["mem 001"] }, [{ doc_id: "mem 001" }]],
])("the entry %s is forgotten with %j, also in before-images", (name, selector, value: unknown = 1) => {
  bring([entry("problem_categories", name, value), entry("problem_categories", "other", 1)]);
  bring([entry("problem_categories", name, value), entry("problem_categories", "other", 2)]);
  bring([entry("problem_categories", "later", value)]);
  bring([entry("problem_categories", "later", 1)]);
  expect(writer.tx.forget.find(selector).carried.length).toBeGreaterThan(0);
  expect(forget(selector)).toMatchObject({ drawers: 0 });
  expect(held()).not.toContain(name);
  expect(held()).toContain("other");
  const kept = rows("SELECT id || coalesce(before, '') FROM change WHERE kind = 'carried'");
  expect(kept.filter((text) => /zeppelin|00000001|quote|0000000f|mem 001/i.test(String(text)))).toEqual([]);
});

test.each([
  ["zeppelins", { match: "Zeppelin!", words: ["zeppelin"] }],
  ["x", { match: "Zeppelin!", words: ["zeppelin"] }, { problem_text: "a zeppelin flies" }],
  ["working_00000002", { ids: ["history_00000001"] }],
  ["book_0000000f_chunk_12", { ids: ["book_0000000f_chunk_1"] }],
  ["mem 0012", { ids: ["mem 001"] }],
  ["a_b", { match: "!?!?", words: [] }],
  ["", { match: "!?!?", words: [] }, ""],
])("the entry %s stays when %j is forgotten", (name, selector, value: unknown = 1) => {
  bring([entry("problem_categories", name, value)]);
  expect(forget(selector)).toMatchObject({ carried: 0 });
  expect(held()).toEqual([name]);
});

test("forget deletes a name if one of its words occurs only in forgotten drawers, and keeps the other names", () => {
  const add = (content: string): string => String(write("add_drawer", { wing: "w", room: "r", content })["drawer_id"]);
  const secret = add("The general zanzibar launch is working, and that makes history.");
  add("A launch is a launch, as zero-day says.");
  const stay = ["launch", "launch|ship", "zanzibars", "deploy::working_00000001"];
  bring(["zanzibar", "zanzibar_launch", "launch|zanzibar", ...stay].map((name) => entry("routing_patterns", name, 1)));
  const other = [entry("context_action_effectiveness", "general|score_memories|working", { best: "history" })];
  bring([...other, entry("routing_patterns", "docker", { best_collection: "history" })]);
  expect(forget({ ids: [secret] })).toMatchObject({ drawers: 1, carried: 3 });
  expect(held()).toEqual(["general|score_memories|working", ...["docker", ...stay].toSorted()]);
  expect(rows("SELECT id FROM change WHERE instr(id, 'zanzibar\"') > 0")).toEqual([]);
});

test("forget does not find an entry by the name of its file or section", () => {
  bring([entry("routing_patterns", "a", 1), entry("relationships", "b", 1)]);
  expect(forget({ match: "routing", words: ["routing"] })).toMatchObject({ carried: 0 });
  expect(forget({ match: "knowledge_graph", words: [] })).toMatchObject({ carried: 0, images: 0 });
  expect(write("memory.undo", { agent: IMPORTER, sinceMs: 0, untilMs: clock })).toMatchObject({ removed: 2 });
});

test("entries that name a drawer of a forgotten source are deleted", () => {
  const { id } = write("book.ingest", { content: "A chapter on tea.", title: "Tea", source: "a" });
  bring([entry("context_action_effectiveness", "a", [{ doc_id: `${String(id)}_chunk_0` }]), entry("s", "b", [id])]);
  expect(forget({ source: "roampal book: Tea" })).toMatchObject({ drawers: 1, carried: 1 });
  expect(held()).toEqual(["b"]);
});

test("the pages of Roampal's graph entries together have every entry once, even large entries", () => {
  const many = Array.from({ length: 1500 }, (_, at) => entry("relationships", `r${at}`, at));
  const large = Array.from({ length: 5 }, (_, at) => entry("routing_patterns", `l${at}`, "x".repeat(1_500_000)));
  for (const part of [many.slice(0, 1000), many.slice(1000), large]) bring(part);
  const reader = new SqliteLedgerReader(file);
  const [got, sizes]: [CarriedEntry[], number[]] = [[], []];
  for (let next: string | null = ""; next !== null;) {
    const page = graphPage(reader, next);
    got.push(...page.entries);
    sizes.push(page.entries.length);
    ({ next } = page);
  }
  reader.close();
  const sorted = (entries: CarriedEntry[]): string[] => entries.map((one) => JSON.stringify(one)).toSorted();
  expect(sorted(got)).toEqual(sorted([...many, ...large]));
  expect(sizes).toEqual([1000, 501, 1, 1, 1, 1, 0]);
});

test("a ledger of version 13 gets the table for Roampal's graph entries, and earlier writes can still be undone", () => {
  write("add_drawer", { wing: "w", room: "r", content: "words" });
  const sinceMs = clock;
  writer.close();
  const old = new Database(file);
  old.exec("DROP TABLE carried_graph");
  old.pragma("user_version = 13");
  old.close();
  writer = new LedgerWriter(file, applyWrite);
  expect(rows("PRAGMA user_version")).toEqual([SCHEMA_VERSION]);
  bring([entry("a", "b", 1)]);
  expect(held()).toEqual(["b"]);
  expect(write("memory.undo", { agent: "ada", sinceMs, untilMs: clock })).toMatchObject({ removed: 1, refused: 0 });
});

test.each([
  ["a value that is not JSON", JSON.stringify([KNOWLEDGE, "s", "a"]), "nope"],
  ["a name that is not JSON", "nope", "1"],
  ["a name that is not a list of texts", JSON.stringify([KNOWLEDGE, 1]), "1"],
  ["an unknown file", JSON.stringify(["other.json", "s", "a"]), "1"],
])("an import refuses an entry of another memory with %s and imports the others", (_what, id, body) => {
  const items = [
    { id, body },
    { id: JSON.stringify([KNOWLEDGE, "s", "b"]), body: "2" },
  ];
  const report = write(
    "memory.import",
    {},
    { agent: "palace import x", findings: { from: "x", kind: "carried", items } },
  );
  expect(report).toMatchObject({ added: 1, refused: [{ id }] });
  expect(held()).toEqual(["b"]);
  expect(forget({ match: "some words" })).toMatchObject({ carried: 0 });
});
