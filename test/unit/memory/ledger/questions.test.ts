/** Tests that an outcome is stored with the question for which the memory was shown. The question is stored as numbers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { conceptNumber, questionOf } from "../../../../src/learning/question/question.ts";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { SCHEMA_VERSION } from "../../../../src/memory/ledger/schema/schema.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import { filesHolding } from "../../../helpers/bytes.ts";

const ASKED = "Why does the zeppelin pipeline time out?";
const QUESTION = questionOf(ASKED) ?? expect.fail("no question");

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

type Written = { id: string; drawer_id: string; removed: number; reverted: number; refused: number };

function write(
  method: string,
  params: Record<string, unknown>,
  more: { agent?: string; findings?: unknown } = {},
): Written {
  clock += 1000;
  const peer = { agent: more.agent ?? "ada", door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${clock}`, isRepeatable: true, method, params, peer, requestId: "r", atMs: clock };
  const [done] = writer.commit([{ ...call, findings: more.findings }]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value as Written;
}

function told<T>(look: (reader: SqliteLedgerReader) => T): T {
  const reader = new SqliteLedgerReader(file);
  try {
    return look(reader);
  } finally {
    reader.close();
  }
}

function rows(sql: string): unknown[] {
  const ledger = new Database(file, { readonly: true });
  const found = ledger.prepare(sql).all();
  ledger.close();
  return found;
}

function expectInStep(): void {
  const concepts = "SELECT e.value AS concept, q.at_ms, q.id, q.nth FROM question q, json_each(q.concepts) e";
  const index = "SELECT concept, at_ms, id, nth FROM question_concept";
  expect(rows(`${concepts} EXCEPT ${index}`)).toEqual([]);
  expect(rows(`${index} EXCEPT ${concepts}`)).toEqual([]);
  expect(rows("SELECT id FROM question EXCEPT SELECT id FROM scored")).toEqual([]);
}

const keep = (text: string): string => write("outcome.record", { key_takeaway: text }).id;

/** Runs a turn in which these memories are shown for `asked`, and begins the next turn. Returns the id of the turn's exchange. */
function turn(conversation: string, shown: readonly string[], asked = ASKED): string {
  write("turn.begin", { conversation }, { findings: { drawers: shown } });
  const { id } = write("turn.end", { conversation, user: asked, assistant: "It wants a longer timeout." });
  write("turn.begin", { conversation }, { findings: { drawers: [] } });
  return id;
}

const score = (scores: Record<string, string>, more: { agent?: string; findings?: unknown } = {}): unknown =>
  write("score_memories", { outcome: "worked", memory_scores: scores }, more);

test("a shown memory and the exchange are scored for the user's question; a memory that only a search found, for the search's question", () => {
  const [shown, searched, neither] = [keep("one"), keep("two"), keep("three")];
  const exchange = turn("talk", [shown]);
  const own = questionOf("zeppelin fares") ?? expect.fail("no question");
  score(
    { [shown]: "worked", [searched]: "failed", [neither]: "worked" },
    { findings: { [searched]: own, [shown]: own } },
  );
  const questionFor = (id: string): unknown => told((reader) => reader.scored(id).map(({ question }) => question));
  expect(questionFor(shown)).toEqual([{ ...QUESTION, collection: "working" }]);
  expect(questionFor(exchange)).toEqual([{ ...QUESTION, collection: "working" }]);
  expect(questionFor(searched)).toEqual([{ ...own, collection: "working" }]);
  expect(questionFor(neither)).toEqual([null]);
  expectInStep();
  expect(filesHolding(folder, "zeppelin_pipeline"), "a concept is readable in a file").toEqual([]);
  const alike = told((reader) => reader.answered([conceptNumber("zeppelin")]));
  expect(alike.map(({ id, outcome }) => [id, outcome]).toSorted()).toEqual(
    [
      [shown, "worked"],
      [exchange, "worked"],
      [searched, "failed"],
    ].toSorted(),
  );
});

test("no question is stored for a signal, a person's score or a plain drawer; a score of a book's chunk stores a question and keeps the standing", () => {
  const shown = keep("one");
  const { drawer_id: drawer } = write("add_drawer", { wing: "w", room: "r", content: "words" });
  const { id: book } = write("book.ingest", { content: "A chapter on zeppelins.", title: "Air", source: "a" });
  const findings = { [drawer]: QUESTION, [`${book}_chunk_0`]: QUESTION, [shown]: QUESTION };
  score({ [drawer]: "worked", [`${book}_chunk_0`]: "failed" }, { findings });
  score({ [shown]: "worked" }, { findings, agent: "palace outcome" });
  write("turn.begin", { conversation: "t" }, { findings: { drawers: [shown] } });
  write("turn.end", { conversation: "t", user: ASKED, assistant: "So.", signals: ["tests-passed"] });
  expect(rows("SELECT id, collection, outcome FROM question")).toEqual([
    { id: `${book}_chunk_0`, collection: "books", outcome: "failed" },
  ]);
  expect(told((reader) => reader.standings([`${book}_chunk_0`]))).toMatchObject(
    new Map([[`${book}_chunk_0`, { score: 0.5, uses: 0 }]]),
  );
});

test("undo removes a learned question, and restores a deleted question", () => {
  const shown = keep("one");
  score({ [shown]: "worked" }, { findings: { [shown]: QUESTION } });
  const before = told((reader) => reader.scored(shown));
  const sinceMs = clock + 1;
  for (let times = 0; times < 60; times++)
    score({ [shown]: "partial" }, { agent: "bob", findings: { [shown]: QUESTION } });
  expect(rows("SELECT count(*) AS count FROM question")).toEqual([{ count: 15 }]);
  expectInStep();
  expect(write("memory.undo", { agent: "bob", sinceMs, untilMs: clock })).toMatchObject({ refused: 0 });
  expect(told((reader) => reader.scored(shown))).toEqual(before);
  expectInStep();
  expect(told((reader) => reader.answered(QUESTION.concepts))).toHaveLength(1);
  const nowMs = clock + 1;
  write("delete_drawer", { drawer_id: shown });
  expect(rows("SELECT * FROM question_concept")).toEqual([]);
  write("memory.undo", { agent: "ada", sinceMs: nowMs, untilMs: clock });
  expect(told((reader) => reader.scored(shown))).toEqual(before);
  expectInStep();
});

test("forgetting an exchange, or a text with one of a question's concepts, deletes the question, also from before-images", () => {
  const [shown, other, third] = [keep("one"), keep("two"), keep("three")];
  const exchange = turn("talk", [shown]);
  const elsewhere = questionOf("How is bread baked?") ?? expect.fail("no question");
  score({ [shown]: "worked" });
  score({ [other]: "worked", [third]: "worked" }, { findings: { [other]: QUESTION, [third]: elsewhere } });
  score({ [shown]: "worked", [other]: "partial" });
  const left = (): unknown[] => rows("SELECT id FROM question ORDER BY id");
  write("memory.forget", { by: "ids" }, { findings: { ids: [exchange] } });
  expect(left()).toEqual([other, third].toSorted().map((id) => ({ id })));
  write("memory.forget", { by: "match" }, { findings: { match: "zeppelin flights" } });
  expect(left()).toEqual([{ id: third }]);
  expectInStep();
  const image = `SELECT id FROM change WHERE instr(before, '${conceptNumber("zeppelin")}') > 0`;
  expect(rows(image)).toEqual([]);
});

test("forgetting an exchange deletes a question that exists only in a before-image", () => {
  const shown = keep("one");
  const exchange = turn("talk", [shown]);
  const sinceMs = clock + 1;
  score({ [shown]: "worked" }, { agent: "rater" });
  write("memory.undo", { agent: "rater", sinceMs, untilMs: clock });
  const images = `SELECT id FROM change WHERE instr(before, '${conceptNumber("zeppelin")}') > 0`;
  expect(rows("SELECT id FROM question")).toEqual([]);
  expect(rows(images)).toContainEqual({ id: shown });
  write("memory.forget", { by: "ids" }, { findings: { ids: [exchange] } });
  expect(rows(images)).toEqual([]);
});

test("of 60 outcomes, the ledger reads the newest 40 for a concept, and counts all 60 for a kind of conversation", () => {
  const ids = Array.from({ length: 60 }, (_, at) => keep(`memory ${at}`));
  for (const id of ids) score({ [id]: "worked" }, { findings: { [id]: QUESTION } });
  const found = told((reader) => reader.answered(QUESTION.concepts));
  expect(found.map(({ id }) => id).toSorted()).toEqual(ids.slice(-40).toSorted());
  expect(told((reader) => reader.toldOf(ids.slice(0, 2)))).toEqual(
    new Map(ids.slice(0, 2).map((id) => [id, { worked: 1, failed: 0, partial: 0 }])),
  );
  expect(told((reader) => reader.toldIn(QUESTION.context, "working"))).toEqual({ worked: 60, failed: 0, partial: 0 });
  expect(told((reader) => reader.toldIn(QUESTION.context, "books"))).toEqual({ worked: 0, failed: 0, partial: 0 });
});

test("the update of a version 12 ledger keeps the outcomes without a question, and new outcomes get a question", () => {
  const shown = keep("one");
  score({ [shown]: "worked" });
  const sinceMs = clock + 1;
  score({ [shown]: "failed" }, { agent: "bob" });
  const before = told((reader) => reader.scored(shown));
  writer.close();
  const old = new Database(file);
  old.exec("DROP TRIGGER scored_gone; DROP TABLE question; DROP TABLE question_concept");
  old.pragma("user_version = 12");
  old.close();

  writer = new LedgerWriter(file, applyWrite);
  expect(rows("PRAGMA user_version")).toEqual([{ user_version: SCHEMA_VERSION }]);
  expect(told((reader) => reader.scored(shown))).toEqual(before);
  expect(write("memory.undo", { agent: "bob", sinceMs, untilMs: clock })).toMatchObject({ reverted: 1 });
  score({ [shown]: "worked" }, { findings: { [shown]: QUESTION } });
  expect(told((reader) => reader.scored(shown).map(({ question }) => question?.context))).toEqual([
    undefined,
    QUESTION.context,
  ]);
  expectInStep();
});
