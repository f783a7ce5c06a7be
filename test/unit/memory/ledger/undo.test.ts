/** Undo on a real ledger restores drawers, facts, links and sources, and keeps other agents' changes. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LEARNING_TRACES } from "../../../../src/learning/traces.ts";
import { previewUndo } from "../../../../src/memory/hygiene/hygiene.ts";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { findLogical, textOf } from "../../../../src/memory/drawer/logical.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";

type Answer = Record<string, unknown>;
const FOREVER = { journalRetentionMs: 1e15, undoMs: 1e15, imagesBytes: 1e9 };

let folder: string, file: string, writer: LedgerWriter, reader: SqliteLedgerReader;
let clock = 1000;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  writer = new LedgerWriter(file, applyWrite);
  reader = new SqliteLedgerReader(file);
});

afterEach(() => {
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true });
});

function write(agent: string, method: string, params: Answer, findings?: unknown): Answer {
  clock += 1000;
  const peer = { agent, door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${clock}`, isRepeatable: true, method, params, peer, requestId: "r", atMs: clock };
  const [done] = writer.commit([{ ...call, ...(findings !== undefined && { findings }) }]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value as Answer;
}

const add = (agent: string, content: string, room = "r"): string =>
  String(write(agent, "add_drawer", { wing: "w", room, content })["drawer_id"]);
const undo = (agent: string, sinceMs = 0): Answer => write("undoer", "memory.undo", { agent, sinceMs, untilMs: clock });
const text = (id: string): string | undefined => reader.findDrawer(id)?.text;
const all = (sql: string): unknown[] => {
  const database = new Database(file, { readonly: true });
  const rows = database.prepare(sql).raw().all();
  database.close();
  return rows;
};
/** State that undo must restore: everything except row numbers. */
const state = (): unknown => ({
  drawers: all("SELECT id, wing, room, source_file, text, metadata FROM drawer ORDER BY id"),
  words: all("SELECT count(*) FROM drawer_fts WHERE drawer_fts MATCH 'word'"),
  places: all("SELECT wing, room, drawers FROM place ORDER BY 1, 2"),
  growth: all("SELECT day, drawers FROM growth ORDER BY day"),
  facts: all("SELECT id, subject, object, valid_from, valid_to, extracted_at FROM kg_triple ORDER BY id"),
  entities: all("SELECT id, name FROM kg_entity ORDER BY id"),
  links: all("SELECT kind, id, record FROM link ORDER BY id"),
});

function scene(): { kept: string; gone: string; changed: string } {
  const ids = { kept: add("a", "word one"), gone: add("a", "word two"), changed: add("a", "word three") };
  write("a", "kg_add", { subject: "Max", predicate: "likes", object: "tea", valid_from: "2020-01-01" });
  write("a", "create_tunnel", {
    source_wing: "w",
    source_room: "r",
    target_wing: "v",
    target_room: "s",
    label: "before",
  });
  return ids;
}

/** Runs an agent's writes: additions, deletions, changes of one drawer, moves, a longer text, a source, facts and links. */
function havoc(agent: string, { gone, changed }: { gone: string; changed: string }): void {
  add(agent, "word new");
  write(agent, "delete_drawer", { drawer_id: gone });
  write(agent, "update_drawer", { drawer_id: changed, content: "word changed" });
  write(agent, "update_drawer", { drawer_id: changed, content: "word ".repeat(400), room: "elsewhere" });
  write(agent, "kg_add", { subject: "Max", predicate: "likes", object: "coffee" });
  write(agent, "kg_invalidate", { subject: "Max", predicate: "likes", object: "tea", ended: "2021-01-01" });
  const tunnel = { source_wing: "w", source_room: "r", target_wing: "v", target_room: "s", label: "after" };
  write(agent, "create_tunnel", tunnel);
  const source = { wing: "w", room: "r", sourceFile: "/x.md", mtime: 1, sha256: "s", addedBy: "t" };
  write(agent, "source.replace", {
    ...source,
    content: "word of a document that is long enough to be one\n".repeat(9),
  });
  write(agent, "diary_write", { agent_name: agent, entry: "word of the day" });
}

test("undo reverts an agent's writes, and an undo can itself be undone", () => {
  const ids = scene();
  const before = state();
  const since = clock + 1;
  havoc("b", ids);
  const after = state();
  expect(after).not.toEqual(before);
  const plan = previewUndo(writer.tx, { agent: "b", sinceMs: since, untilMs: clock }, LEARNING_TRACES);
  // The tool refuses the tunnel, because its target room does not exist. A refused write is not counted.
  expect(plan).toMatchObject({ writes: 8, too_old: 0, refused: 0 });
  expect(state()).toEqual(after);
  const done = undo("b", since);
  const items = (plan["items"] as Record<string, unknown>[]).map(({ preview: _preview, ...item }) => item);
  expect(done).toEqual({ ...plan, items });
  expect(state()).toEqual(before);
  // A repeated undo changes no row.
  expect(undo("b", since)).toMatchObject({ removed: 0, restored: 0, reverted: 0, refused: 0 });
  const redone = write("redoer", "memory.undo", { agent: "undoer", sinceMs: since, untilMs: clock });
  expect(redone).toMatchObject({ refused: 0 });
  expect(state()).toEqual(after);
  expect(write("x", "memory.undo", { agent: "redoer", sinceMs: since, untilMs: clock })).toMatchObject({ refused: 0 });
  expect(state()).toEqual(before);
});

test("undo of one write by its seq keeps the other writes that arrived in the same millisecond", () => {
  add("b", "word one");
  const [seq] = all("SELECT seq FROM journal").flat();
  const peer = { agent: "b", door: "unix", uid: 0, pid: 1 };
  const params = { wing: "w", room: "r", content: "word two" };
  const call = { key: "second", isRepeatable: true, method: "add_drawer", params, peer, requestId: "r" };
  writer.commit([{ ...call, atMs: clock }]);
  expect(all("SELECT count(DISTINCT at_ms), count(*) FROM journal")).toEqual([[1, 2]]);
  const window = { agent: "b", sinceMs: clock, untilMs: clock };
  expect(previewUndo(writer.tx, window, LEARNING_TRACES)).toMatchObject({ writes: 2, removed: 2 });
  expect(write("undoer", "memory.undo", { ...window, seq })).toMatchObject({ writes: 1, removed: 1, refused: 0 });
  expect(all("SELECT text FROM drawer")).toEqual([["word two"]]);
});

test("undo refuses changes that somebody else overwrote, names the other agent, and reverts the rest", () => {
  const { kept, gone, changed } = scene();
  write("b", "update_drawer", { drawer_id: kept, content: "by b" });
  write("b", "update_drawer", { drawer_id: changed, content: "by b, too" });
  write("b", "delete_drawer", { drawer_id: gone });
  write("c", "update_drawer", { drawer_id: kept, content: "by c, then" });
  add("c", "word two");
  expect(undo("b")).toMatchObject({
    refused: 2,
    reverted: 1,
    items: expect.arrayContaining([
      { kind: "drawer", id: kept, change: "refused", by: "c" },
      { kind: "drawer", id: gone, change: "refused", by: "c" },
    ]) as unknown,
  });
  expect([text(kept), text(gone), text(changed)]).toEqual(["by c, then", "word two", "word three"]);
});

test("undo refuses to revert a drawer that somebody else changed between two writes of the agent", () => {
  const { kept } = scene();
  write("b", "update_drawer", { drawer_id: kept, content: "by b" });
  write("c", "update_drawer", { drawer_id: kept, content: "by c" });
  write("b", "update_drawer", { drawer_id: kept, content: "by b again" });
  expect(undo("b")).toMatchObject({ refused: 1, reverted: 0 });
  expect(text(kept)).toBe("by b again");
});

const long = (word: string, count: number): string => Array.from({ length: count }, (_, at) => word + at).join(" ");
const change = (agent: string, id: string, content: string): Answer =>
  write(agent, "update_drawer", { drawer_id: id, content });
const wholeText = (id: string): string | undefined => {
  const drawer = findLogical(reader, id);
  return drawer && textOf(drawer);
};

test.each([
  ["shortened", long("old", 600), long("bot", 200), "person"],
  ["made long", "old", long("bot", 600), "person"],
  ["made short", long("old", 600), "bot", "person"],
])("undo keeps somebody else's text of a drawer that the agent has %s", (_name, old, bots, person) => {
  for (const mine of ["mine", long("mine", 200), long("mine", 900)]) {
    const id = add("owner", `${old} ${mine}`);
    change("bot", id, bots);
    change(person, id, mine);
    const rows = reader.slicesOf(id).length;
    expect(undo("bot")).toMatchObject({ removed: 0, restored: 0, reverted: 0 });
    expect(wholeText(id)).toBe(mine);
    expect(reader.slicesOf(id)).toHaveLength(rows);
  }
});

test("undo brings back no slice of a drawer that somebody else has deleted, and names who did", () => {
  const id = add("owner", long("old", 600));
  change("bot", id, long("bot", 200));
  write("person", "delete_drawer", { drawer_id: id });
  const { items, refused } = undo("bot");
  expect(wholeText(id)).toBeUndefined();
  expect(refused).toBe((items as unknown[]).length);
  expect(items).toContainEqual({ kind: "drawer", id: `${id}_chunk_000002`, change: "refused", by: "person" });
});

test.each([
  ["shortened", long("old", 600), long("bot", 200)],
  ["made long", "old", long("bot", 600)],
])("undo restores a drawer that only the agent has %s", (_name, old, bots) => {
  const id = add("owner", old);
  change("bot", id, bots);
  expect(undo("bot")).toMatchObject({ refused: 0 });
  expect(wholeText(id)).toBe(old);
});

test("a foreign writer's change counts as a change by somebody else", () => {
  const { kept } = scene();
  const metadata = reader.findDrawer(kept)?.metadata ?? {};
  writer.storeVectors([{ row: 1, textVersion: 1, vector: new Float32Array([1, 0]) }], "m");
  writer.outbox.done(reader.outbox.entries(9));
  const row = { id: kept, text: "by a foreign writer", metadata, vector: undefined };
  expect(writer.adopt({ rows: [row], removed: [], model: undefined }).taken).toBe(1);
  expect(undo("a")).toMatchObject({ refused: 1 });
  expect(text(kept)).toBe("by a foreign writer");
});

test("an unknown agent has no writes, and the answer names the agents that wrote", () => {
  scene();
  expect(undo("nobody")).toMatchObject({ writes: 0, agents: ["a"], items: [] });
});

test("before-images are deleted by age and size, and undo says how many writes are too old for it", () => {
  const { kept } = scene();
  const since = clock + 1;
  for (let index = 0; index < 20; index++)
    write("b", "update_drawer", { drawer_id: kept, content: `${index} ${"long ".repeat(100)}` });
  while (writer.prune({ ...FOREVER, imagesBytes: 3_000 }, clock));
  expect(Number(all("SELECT count(*) FROM change").flat()[0])).toBeLessThan(8);
  const plan = previewUndo(writer.tx, { agent: "b", sinceMs: since, untilMs: clock }, LEARNING_TRACES);
  expect(plan["too_old"]).toBeGreaterThan(12);
  while (writer.prune({ ...FOREVER, undoMs: 0 }, clock + 1));
  expect(all("SELECT * FROM change")).toEqual([]);
  expect(undo("b", since)).toMatchObject({ writes: 20, too_old: 20, items: [] });
  expect(Number(all("SELECT count(*) FROM journal").flat()[0])).toBeGreaterThan(20);
  while (writer.prune({ ...FOREVER, journalRetentionMs: 0 }, clock + 1));
  expect(all("SELECT key FROM journal")).toEqual([]);
});

test("undo cannot restore a forgotten text, and a repeated call does not file the text again", () => {
  const secret = "unforgettable7x";
  const params = { wing: "w", room: "r", content: `the ${secret}` };
  const id = String(write("b", "add_drawer", params)["drawer_id"]);
  const key = `k${clock}`;
  write("b", "update_drawer", { drawer_id: id, content: "harmless now" });
  write("a", "memory.forget", { by: "match" }, { match: secret });
  expect(undo("b")).toMatchObject({ items: [] });
  expect(text(id)).toBe("harmless now");
  expect(JSON.stringify(all("SELECT * FROM journal")) + JSON.stringify(all("SELECT * FROM change"))).not.toContain(
    secret,
  );
  // A client that missed the answer repeats the call: the text is not filed twice.
  const peer = { agent: "b", door: "unix", uid: 0, pid: 1 };
  const again = { key, isRepeatable: true, method: "add_drawer", params, peer, requestId: "r", atMs: clock };
  expect(writer.commit([again]).outcomes[0]).toMatchObject({ replayed: true, outcome: { value: { drawer_id: id } } });
  expect(all(`SELECT id FROM drawer WHERE text LIKE '%${secret}%'`)).toEqual([]);
});

test("forgetting reports drawers whose new text waits for a vector, because the palace still has their old text", () => {
  const id = add("a", "the secret12x of a drawer");
  writer.storeVectors([{ row: 1, textVersion: 1, vector: new Float32Array([1, 0]) }], "m");
  writer.outbox.done(reader.outbox.entries(9));
  write("a", "update_drawer", { drawer_id: id, content: "harmless now" });
  write("a", "memory.forget", { by: "match" }, { match: "secret12x" });
  const ids = reader.erasures().flatMap((one) => one.ids);
  expect([reader.unsentAmong(ids), reader.awaitingVector(ids)]).toEqual([0, [{ id, text: "harmless now" }]]);
});

test("forgetting finds both parts of a text that was cut at the end of a drawer", () => {
  const secret = "cut-in-the-middle";
  const document = (content: string, sourceFile: string): void =>
    void write("a", "conversation.replace", {
      ...{ wing: "w", room: "r", sourceFile, mtime: 1, sha256: "s", from: 0, addedBy: "t" },
      texts: content.split("|"),
      total: content.split("|").length,
    });
  document("before cut-in-|the-middle after|more", "/cut.jsonl");
  document("a cut-in- of another|more the-middle", "/other.jsonl");
  document("all of cut-in-the-middle|middle that overlaps|nothing", "/overlap.jsonl");
  add("a", `${"x".repeat(795)}${secret} end`);
  const found = writer.tx.forget.find({ match: secret }).drawers.map(({ text: one }) => one.slice(-25));
  expect(found.sort()).toEqual(
    ["before cut-in-", "the-middle after", "all of cut-in-the-middle", "middle that overlaps"]
      .concat(["n-the-middle end".slice(-25), `${"x".repeat(20)}cut-i`])
      .map((one) => one.slice(-25))
      .sort(),
  );
});

test("a match in one slice, or one slice's id, forgets all slices of that drawer and no slice of another drawer", () => {
  const long = (secret: string): string => `${"before ".repeat(200)}${secret} ${"after ".repeat(200)}`;
  const rows = (): number => Number(all("SELECT count(*) FROM drawer").flat()[0]);
  const other = add("a", long("harmless"));
  const slices = rows();
  add("a", long("secret7x"));
  expect([slices > 2, rows()]).toEqual([true, 2 * slices]);
  write("a", "memory.forget", { by: "match" }, { match: "secret7x" });
  expect(rows()).toBe(slices);
  add("a", long("secret8x"));
  const holding = "SELECT id FROM drawer WHERE text LIKE '%secret8x%'";
  write("a", "memory.forget", { by: "ids" }, { ids: all(holding).flat() });
  expect(rows()).toBe(slices);
  expect(reader.slicesOf(other)).toHaveLength(slices);
});

test("forgetting deletes filing records that no drawer needs, and keeps the record of a source that still has drawers", () => {
  const secret = "secretpath9x";
  const talk = (sourceFile: string, extractMode: string, ...texts: string[]): unknown =>
    write("miner", "conversation.replace", {
      ...{ wing: "w", room: "r", sourceFile, mtime: 1, sha256: "a", from: 0, addedBy: "m", extractMode },
      ...{ texts, total: texts.length },
    });
  talk(`/x/${secret}.jsonl`, "general", "a memory of the talk");
  talk("/x/other.jsonl", "exchange", `only this exchange names ${secret}`);
  talk("/x/other.jsonl", "general", "a memory that stays");
  const short = { wing: "w", room: "r", sourceFile: `/y/${secret}.md`, content: "x", mtime: 1, sha256: "b" };
  write("miner", "source.replace", { ...short, addedBy: "m" });
  write("a", "memory.forget", { by: "match" }, { match: secret });
  writer.eraser.rewrite();
  const kept = [["/x/other.jsonl"], ["/x/other.jsonl\u001fgeneral"]];
  expect(all("SELECT source_file FROM source ORDER BY 1")).toEqual(kept);
  expect(writer.eraser.cutLog()).toBe(true);
  expect(readFileSync(file).includes(secret)).toBe(false);
  write("a", "memory.forget", { by: "source" }, { source: "/x/other.jsonl" });
  writer.eraser.rewrite();
  expect(all("SELECT source_file FROM source")).toEqual([]);
});

test("undo restores a source's filing record; after an undo the next run files a new source again", () => {
  const fileSource = (agent: string, mtime: number, sha256: string): Answer =>
    write(agent, "source.replace", {
      ...{ wing: "w", room: "r", sourceFile: "/x.md", mtime, sha256, addedBy: "t" },
      content: `${sha256} of a document that is long enough to be one\n`.repeat(9),
    });
  const sources = (): unknown[] => all("SELECT source_file, wing, mtime, sha256 FROM source");
  fileSource("a", 1, "first");
  fileSource("b", 2, "second");
  undo("b");
  expect(sources()).toEqual([["/x.md", "w", 1, "first"]]);
  undo("a");
  expect(sources()).not.toContainEqual(["/x.md", "w", 1, "first"]);
});

/** Every table of the ledger, and what forgetting does to it. If a new table contains text or ids of drawers, forget.ts must handle it. */
const FORGET_REACHES: Readonly<Record<string, string>> = {
  drawer: "the rows are deleted; triggers delete their vectors and update the counts",
  drawer_fts: "its segments are merged into one without the deleted rows (LedgerEraser)",
  form_fts: "deleted with the drawer; its segments are merged into one without the deleted rows (LedgerEraser)",
  vector: "deleted with the drawer",
  vector_code: "deleted with the drawer",
  pending_embedding: "deleted with the drawer",
  static_code: "deleted with the drawer",
  static_renewed: "deleted with the drawer",
  place: "has only counts by wing and room",
  growth: "has only counts by day",
  closet: "closets of the drawers' sources, and closets that contain the text, are deleted with their vectors",
  closet_outbox: "has only ids",
  outbox: "has only ids",
  source: "deleted with its last drawer, and if its name contains a matched text",
  source_part: "all partly sent documents are deleted; their feeders send them again",
  source_fts: "the source is indexed again, and its segments are merged into one (LedgerEraser)",
  heading: "deleted with the drawer; headings of the source's other drawers are made again with source_fts",
  source_dirty: "has only names of sources to index again",
  journal: "arguments and results that contain the text are replaced; keys stay, so that no write is done twice",
  imported_journal: "as the journal; the other memory's name is replaced, too",
  journal_claim: "has only times",
  change: "before-images are deleted",
  erasure: "has only ids, until everything is erased",
  kg_entity: "deleted if its name contains a matched text",
  kg_triple: "deleted if the fact or one of its entities contains a matched text",
  link: "deleted if its record contains a matched text",
  graph_outbox: "keeps a deleted link's record until the file no longer has the link",
  standing: "deleted with the drawer",
  scored: "deleted with the drawer; rows of other drawers name an exchange only by its id",
  question:
    "has only numbers; deleted with its drawer, with the exchange that asks it, and if it has a concept of a matched text",
  question_concept: "triggers delete it with its question",
  carried_graph:
    "deleted if the entry names the drawer by any id, contains a matched text, has one of its concepts, or has in its name a word that no other drawer has",
  conversation: "has only ids",
  shown: "has only ids",
  meta: "has only our settings and marks",
};

test("the list of what forgetting does to each table has every table of the ledger", () => {
  const tables = all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").flat();
  const shadow = /_fts_(?:data|idx|content|docsize|config)$/;
  expect(tables.filter((name) => !shadow.test(String(name))).sort()).toEqual(Object.keys(FORGET_REACHES).sort());
});
