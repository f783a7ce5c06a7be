/** Closets in the ledger: one transaction writes them with their drawers, and deleting a text deletes every closet that quotes it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSourceFiles } from "../../../src/broker/palace/source-files.ts";
import { reportSync } from "../../../src/memory/source/sync.ts";
import { applyWrite } from "../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../src/memory/ledger/read/reader.ts";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "../../../src/memory/ledger/schema/schema.ts";
import { LedgerWriter } from "../../../src/memory/ledger/write/group-commit.ts";

const sourceFiles = openSourceFiles("/nowhere");

type Closet = { id: string; text: string; source_file: string; metadata: string; vector: Buffer | null };

let folder: string, file: string, writer: LedgerWriter, reader: SqliteLedgerReader;
let count = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "closets-"));
  file = join(folder, "ledger.sqlite3");
  writer = new LedgerWriter(file, applyWrite);
  reader = new SqliteLedgerReader(file);
});

afterEach(() => {
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true });
});

function write(method: string, params: Record<string, unknown>, findings?: unknown): Record<string, unknown> {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${++count}`, isRepeatable: false, method, params, peer, requestId: "r", atMs: Date.now() };
  const [done] = writer.commit([{ ...call, ...(findings !== undefined && { findings }) }]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value as Record<string, unknown>;
}

function rows<T>(sql: string): T[] {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare<[], T>(sql).all();
  } finally {
    database.close();
  }
}

const closets = (): Closet[] => rows("SELECT * FROM closet ORDER BY row");
const drawers = (): { id: string; text: string }[] => rows("SELECT id, text FROM drawer ORDER BY row");
const mine = (sourceFile: string, content: string, wing = "proj"): Record<string, unknown> =>
  write("source.replace", {
    wing,
    room: "notes",
    sourceFile,
    content,
    sha256: "s",
    mtime: 1,
    contentDate: "2026-01-02",
  });
const embedAll = (): void => {
  const pending = reader.closets.pendingTexts(0, 100).map(({ row, textVersion }) => ({
    ...{ row, textVersion },
    vector: new Float32Array([1, 0, 0, 0]),
  }));
  writer.closets.storeVectors(pending, "m");
};
const sent = (): { id: string; isGone: boolean }[] =>
  reader.closets.outbox.entries(100).map(({ id, record }) => ({ id, isGone: record === null }));

const TEXT = `# Auth design\n\nWe built the auth service with Redis. Redis was fast.\n\n${"More words here. ".repeat(100)}`;

test("mining a document writes its closets, which point at its first drawers", () => {
  mine("/p/a.md", TEXT);
  const [closet, ...more] = closets();
  const ids = drawers().map(({ id }) => id);
  expect(ids).toHaveLength(3);
  expect(more).toEqual([]);
  expect(closet?.id).toMatch(/^closet_proj_notes_adf7660f360456c15107d3d0_01$/);
  expect(closet?.text).toMatch(
    new RegExp(`^built the auth service with redis\\|Redis\\|2026-01-02:L1-L\\d\\|→${ids.join(",")}`),
  );
  expect(JSON.parse(closet?.metadata ?? "")).toMatchObject({
    drawer_count: 3,
    normalize_version: 2,
    entities: "Redis",
  });
});

test("a document that is mined again has only the closets of its new text", () => {
  mine("/p/a.md", Array.from({ length: 12 }, (_, n) => `## Heading ${n} ${"word ".repeat(9)}`).join("\n\n"));
  expect(closets().length).toBeGreaterThan(1);
  mine("/p/a.md", TEXT);
  expect(closets().map(({ id }) => id.slice(-3))).toEqual(["_01"]);
  const before = closets();
  // This text is too short to be filed. The old drawers and closets stay, as in upstream.
  mine("/p/a.md", "");
  expect(closets()).toEqual(before);
});

test("the outbox lists a closet once it has its vector, and lists its removal only if the public palace has the closet", () => {
  mine("/p/a.md", TEXT);
  expect(reader.closets.outbox.lag().awaitingVector).toBe(1);
  expect(sent()).toEqual([]);
  embedAll();
  expect(reader.closets.outbox.lag().awaitingVector).toBe(0);
  const [entry] = reader.closets.outbox.entries(1);
  expect(entry?.record).toMatchObject({ text: closets()[0]?.text, vector: new Float32Array([1, 0, 0, 0]) });
  writer.closets.outbox.done([{ id: entry?.id ?? "", seq: entry?.seq ?? 0 }]);
  expect(sent()).toEqual([]);
  write("source.remove", { wing: "proj", sourceFile: "/p/a.md" });
  expect(sent()).toEqual([{ id: entry?.id, isGone: true }]);
  // The closet is made again before the palace gets its removal, so the removal is not sent.
  mine("/p/a.md", TEXT);
  expect(sent()).toEqual([]);
  embedAll();
  expect(sent()).toEqual([{ id: entry?.id, isGone: false }]);
});

test("the writer drops a vector that was computed from an older text of the closet", () => {
  mine("/p/a.md", TEXT);
  const [old] = reader.closets.pendingTexts(0, 1);
  write("closet.rebuild", { sourceFiles: ["/p/a.md"] });
  mine("/p/a.md", `# Another heading\n\n${TEXT}`);
  writer.closets.storeVectors(
    [{ row: old?.row ?? 0, textVersion: old?.textVersion ?? 0, vector: new Float32Array(4) }],
    "m",
  );
  expect(closets()[0]?.vector).toBeNull();
});

test.each(["delete_drawer", "update_drawer"])("%s of one drawer deletes the closets that quote its source", (tool) => {
  mine("/p/a.md", TEXT);
  mine("/p/b.md", TEXT);
  const [first] = drawers();
  expect(write("update_drawer", { drawer_id: first?.id, room: "other" })).toMatchObject({ closets_deleted: 0 });
  expect(write(tool, { drawer_id: first?.id, content: "new words" })).toMatchObject({ closets_deleted: 1 });
  expect(closets().map(({ source_file: source }) => source)).toEqual(["/p/b.md"]);
});

test("delete_by_source previews how many closets it deletes, and then deletes them", () => {
  mine("/p/a.md", TEXT);
  expect(write("delete_by_source", { source_file: "/p/a.md" })).toMatchObject({
    ...{ match_count: 3, closet_match_count: 1 },
    hint: "No drawers were deleted. Re-run with dry_run=false to remove these 3 drawer(s) and 1 index entr(y/ies).",
  });
  expect(write("delete_by_source", { source_file: "/p/a.md", dry_run: false })).toMatchObject({ closets_deleted: 1 });
  expect(closets()).toEqual([]);
});

test("sync deletes the closets of a deleted file, and returns their number", async () => {
  // Because this file exists, sync knows that the folder can be read.
  mine(file, TEXT);
  mine(join(folder, "away.md"), TEXT);
  const params = { project_dir: folder, apply: true };
  const answer = write("sync", params, await reportSync(reader, sourceFiles, params));
  expect(answer).toMatchObject({ missing: 3, removed_drawers: 3, removed_closets: 1 });
  expect(closets().map(({ source_file: source }) => source)).not.toContain(join(folder, "away.md"));
});

test("deleting a source's last drawer deletes the source's closets, even if plain SQL deletes the drawer", () => {
  mine("/p/a.md", TEXT);
  const database = new Database(file);
  const [first, ...others] = drawers();
  for (const { id } of others) database.prepare("DELETE FROM drawer WHERE id = ?").run(id);
  expect(closets()).toHaveLength(1);
  database.prepare("DELETE FROM drawer WHERE id = ?").run(first?.id);
  database.close();
  expect(closets()).toEqual([]);
});

test("a rebuild from the drawers makes the same closets as mining the document", () => {
  const long = Array.from(
    { length: 40 },
    (_, n) => `## Heading ${n}\n\nWe fixed the bug number ${n} in the Parser. ${"x ".repeat(60)}`,
  );
  for (const [index, text] of [
    TEXT,
    long.join("\n\n"),
    `plain\n\n${"y".repeat(3_000)}\n\nthe end "of this quoted thing"`,
  ].entries())
    mine(`/p/${index}.md`, text);
  const before = closets().map(({ id, text }) => ({ id, text }));
  const database = new Database(file);
  database.prepare("DELETE FROM closet").run();
  database.close();
  const sources = reader.closets.minedSources(undefined);
  expect(sources).toEqual(["/p/0.md", "/p/1.md", "/p/2.md"]);
  expect(write("closet.rebuild", { sourceFiles: [...sources, "/p/none.md"] })).toEqual({
    ...{ sources: 3, closets: before.length, kept: 0, unfit: 1 },
  });
  expect(closets().map(({ id, text }) => ({ id, text }))).toEqual(before);
});

test("a rebuild tags the given names anywhere in the source, as mining does", () => {
  const content = `${TEXT}${"some words on other things. ".repeat(400)}At the end Zoë O'Hara is named once, in passing.`;
  const source = { ...{ wing: "proj", room: "notes", sourceFile: "/p/z.md", content }, sha256: "s", mtime: 1 };
  write("source.replace", { ...source, knownNames: ["Zoë O'Hara"] });
  const made = (): unknown => closets().map(({ id, text, metadata }) => [id, text, entitiesOf(metadata)]);
  const mined = made();
  expect(mined).toMatchObject([[expect.any(String), expect.any(String), "Redis;Zoë O'Hara"]]);
  write("closet.rebuild", { sourceFiles: ["/p/z.md"] });
  expect(made()).not.toEqual(mined);
  write("closet.rebuild", { sourceFiles: ["/p/z.md"], knownNames: ["Nobody Else", "Zoë O'Hara"] });
  expect(made()).toEqual(mined);
});

const entitiesOf = (metadata: string): unknown => (JSON.parse(metadata) as Record<string, unknown>)["entities"];

test("the ledger adopts another program's closet once with its vector, and again only if it differs", () => {
  const take = (text: string): number => {
    const metadata = { wing: "w", room: "r", source_file: "/x.md" };
    const row = { id: "c1", text, metadata, vector: new Float32Array([1, 0]) };
    return writer.closets.adopt({ rows: [row], removed: [], model: undefined });
  };
  expect([take("one"), take("one"), take("two")]).toEqual([1, 0, 1]);
  expect(closets()).toMatchObject([{ id: "c1", text: "two", vector: expect.any(Buffer) as Buffer }]);
});

test("a rebuild keeps closets of a language model, and skips sources that no miner filed", () => {
  write("add_drawer", { wing: "w", room: "r", content: "by hand", source_file: "/p/hand.md" });
  mine("/p/a.md", TEXT);
  writer.closets.adopt({
    rows: [
      {
        id: "closet_proj_notes_a_01",
        text: "their own",
        metadata: { wing: "proj", room: "notes", source_file: "/p/a.md", generated_by: "llm:x" },
        vector: undefined,
      },
    ],
    removed: [],
    model: undefined,
  });
  expect(write("closet.rebuild", { sourceFiles: ["/p/a.md", "/p/hand.md"] })).toEqual({
    ...{ sources: 0, closets: 0, kept: 1, unfit: 1 },
  });
  expect(closets()).toHaveLength(2);
});

test("a ledger of version 3 gets the closet tables and can then mine and remove documents", () => {
  writer.close();
  reader.close();
  rmSync(file);
  const old = new Database(file);
  old.pragma(`application_id = ${APPLICATION_ID}`);
  old.exec(SCHEMA);
  old.exec("DROP TABLE closet; DROP TABLE closet_outbox; DROP TRIGGER closet_orphan;");
  old.pragma("user_version = 3");
  old.close();
  writer = new LedgerWriter(file, applyWrite);
  reader = new SqliteLedgerReader(file);
  expect(rows("PRAGMA user_version")).toEqual([{ user_version: SCHEMA_VERSION }]);
  mine("/p/a.md", TEXT);
  expect(closets()).toHaveLength(1);
  write("source.remove", { wing: "proj", sourceFile: "/p/a.md" });
  expect(closets()).toEqual([]);
});

test(
  "a text on which upstream's regular expression would backtrack without end is filed in bounded time",
  { timeout: 20_000 },
  () => {
    mine(
      "/p/a.md",
      `Aa${"B".repeat(3_000)}1 is the beginning of it, ${"#".repeat(500)} ${'"'.repeat(500)}${" ".repeat(900)}`,
    );
    expect(closets()).toHaveLength(1);
  },
);
