import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lexicalScore } from "../../../../../src/memory/search/fusion.ts";
import { inverseFrequency, scoreTerm } from "../../../../../src/memory/index/lexical/bm25.ts";
import { decodeVarints } from "../../../../../src/memory/index/lexical/fts-table.ts";
import type { LexicalParts } from "../../../../../src/memory/port/search.ts";
import { type LocalLexicalIndex, openLexicalIndex } from "../../../../../src/memory/index/lexical/lexical-index.ts";
import {
  createLedger,
  type FixtureDrawer,
  insertDrawers,
  MIXED_FILTERS,
  mixedDrawers,
  passes,
} from "../../../../helpers/ledger-fixture.ts";
import { seededRandom } from "../../../../helpers/random.ts";

let home: string;
let ledger: Database;
let index: LocalLexicalIndex;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "palace-lexical-"));
  ledger = createLedger(join(home, "ledger.sqlite3"));
  index = openLexicalIndex({ ledgerFile: join(home, "ledger.sqlite3") });
});
afterEach(async () => {
  await index.close();
  ledger.close();
  rmSync(home, { recursive: true, force: true });
});

const random = seededRandom(3);
const VOCABULARY = "boat harbour sail wind crew captain storm rope anchor deck tide shore gull lantern mast".split(" ");
/** Returns random words with falling frequencies, as in real texts. */
const randomText = (words: number): string =>
  Array.from({ length: words }, () => VOCABULARY[Math.floor(random() ** 3 * VOCABULARY.length)]).join(" ");
const rowsOf = async (query: string, filter = {}, limit = 10): Promise<number[]> =>
  (await index.candidates(query, filter, limit)).map(({ row }) => row);
const scoresOf = async (query: string, rows: readonly number[]): Promise<number[]> =>
  (await index.score(query, rows)).map(lexicalScore);
const scoreOf = async (query: string, row: number): Promise<number> => (await scoresOf(query, [row]))[0] as number;

test("in a small palace the lexical index returns the same first rows as FTS5, also after drawers were added, changed and deleted", async () => {
  const length = (): number => 20 + Math.floor(random() * 60);
  const add = (count: number): void =>
    void insertDrawers(
      ledger,
      Array.from({ length: count }, () => ({ text: randomText(length()), dateWords: randomText(1) })),
    );
  const asFts5 = (allowed: (row: number) => boolean): unknown[] =>
    (
      ledger
        .prepare(
          "SELECT rowid AS row, -bm25(drawer_fts) AS score FROM drawer_fts WHERE drawer_fts MATCH 'mast OR gull OR boat' ORDER BY bm25(drawer_fts), rowid",
        )
        .all() as { row: number; score: number }[]
    )
      .filter(({ row }) => allowed(row))
      .slice(0, 50)
      .map(({ row, score }) => ({ row, score: expect.closeTo(score, 9) as number }));
  const compare = async (): Promise<void> => {
    const asked = "the mast, a gull and the boat";
    expect(await index.candidates(asked, {}, 50)).toMatchObject(asFts5(() => true));
    expect(await index.candidates(asked, { wing: "other" }, 50)).toMatchObject(asFts5((row) => row > 400));
  };
  add(300);
  await compare();
  add(100);
  insertDrawers(
    ledger,
    Array.from({ length: 60 }, () => ({ text: randomText(length()), wing: "other" })),
  );
  await compare();
  for (let row = 1; row < 100; row += 3) {
    ledger.prepare("UPDATE drawer SET text = ? WHERE row = ?").run(randomText(length()), row);
    ledger.prepare("INSERT OR REPLACE INTO static_renewed (row) VALUES (?)").run(row);
  }
  await compare();
  ledger.exec("DELETE FROM drawer WHERE row BETWEEN 50 AND 90");
  await compare();
});

test("for words in less than half of the drawers the score is FTS5's bm25 with our rarity formula", async () => {
  const texts = Array.from({ length: 200 }, () => randomText(3 + Math.floor(random() * 12)));
  const rows = insertDrawers(
    ledger,
    texts.map((text) => ({ text, dateWords: "8 May 2023" })),
  );
  const ours = await scoresOf("mast", rows);
  const theirs = new Map(
    ledger.prepare("SELECT rowid, -bm25(drawer_fts) FROM drawer_fts WHERE drawer_fts MATCH 'mast'").raw().all() as [
      number,
      number,
    ][],
  );
  const holding = theirs.size;
  const ratio = inverseFrequency(200, holding) / Math.log((200 - holding + 0.5) / (holding + 0.5));
  expect(holding).toBeGreaterThan(5);
  rows.forEach((row, at) => expect(ours[at]).toBeCloseTo((theirs.get(row) ?? 0) * ratio, 10));
});

test("a filter by wing, room or both leaves out other drawers", async () => {
  const places = ["a/x", "a/y", "b/x", "b/y"];
  const rows = insertDrawers(
    ledger,
    places.map((place) => ({ text: "boat", wing: place.slice(0, 1), room: place.slice(2) })),
  );
  const found = async (filter: object): Promise<string[]> =>
    (await rowsOf("boats", filter)).map((row) => places[rows.indexOf(row)] as string);
  expect(await found({})).toEqual(places);
  expect(await found({ wing: "b" })).toEqual(["b/x", "b/y"]);
  expect(await found({ room: "x" })).toEqual(["a/x", "b/x"]);
  expect(await found({ wing: "a", room: "y" })).toEqual(["a/y"]);
});

test.each(MIXED_FILTERS)("with the filter %j the hits are exactly the palace's matching hits", async (filter) => {
  const drawers = mixedDrawers(Array.from({ length: 900 }, () => ({ text: randomText(6) })));
  const rows = insertDrawers(ledger, drawers);
  const allowed = rows.filter((_, at) => passes(drawers[at] as FixtureDrawer, filter));
  for (const query of ["mast", "boat harbour sail wind crew mast"]) {
    const anywhere = new Set(await rowsOf(query, {}, 2_000));
    expect(anywhere.size).toBeGreaterThan(5);
    // One fewer than the allowed drawers: if asked for as many as are allowed, the index also returns drawers without a word of the query.
    const wanted = Math.max(1, allowed.length - 1);
    const found = await rowsOf(query, filter, wanted);
    const expected = allowed.filter((row) => anywhere.has(row));
    expect(found).toHaveLength(Math.min(wanted, expected.length));
    expect(found.filter((row) => !expected.includes(row))).toEqual([]);
    expect(await index.phraseRows(["boat"], filter, 2_000)).toHaveLength(
      allowed.filter((row) => ` ${drawers[rows.indexOf(row)]?.text} `.includes(" boat ")).length,
    );
  }
});

test("a search of a wing with few drawers in a large palace ranks them like a search of all drawers", async () => {
  const texts = Array.from({ length: 6_000 }, () => randomText(12));
  const wingOf = (at: number): string => (at % 600 === 0 ? "tiny" : "big");
  const rows = insertDrawers(
    ledger,
    texts.map((text, at) => ({ text, wing: wingOf(at) })),
  );
  const tiny = rows.filter((_, at) => wingOf(at) === "tiny");
  // Uses words in less than half of the drawers, because FTS5 gives other words no weight.
  const query = "mast gull lantern tide";
  const ranked = (
    ledger
      .prepare("SELECT rowid FROM drawer_fts WHERE drawer_fts MATCH ? ORDER BY bm25(drawer_fts), rowid")
      .pluck()
      .all(query.replaceAll(" ", " OR ")) as number[]
  ).filter((row) => tiny.includes(row));
  expect(ranked.length).toBeGreaterThan(3);
  expect(await rowsOf(query, { wing: "tiny" }, 100)).toEqual(ranked);
});

test("a small source or time window returns all its drawers, best first, even drawers without a matching word", async () => {
  const rows = insertDrawers(ledger, [
    { text: "rope", sourceFile: "/log.md", filedAt: "2026-01-02T10:00:00" },
    { text: "boat", sourceFile: "/log.md", filedAt: "2026-01-03T10:00:00" },
    { text: "boat", filedAt: "2026-02-01T10:00:00" },
  ]) as [number, number, number];
  expect(await rowsOf("boat", { sourceFile: "/log.md" })).toEqual([rows[1], rows[0]]);
  expect(await rowsOf("boat", { before: "2026-01-31" })).toEqual([rows[1], rows[0]]);
  expect(await rowsOf("boat", { wing: "wing" })).toEqual([rows[1], rows[2]]);
});

test("a filtered search finds the right drawers after drawers were moved, filed or deleted", async () => {
  const [one, two] = insertDrawers(ledger, [
    { text: "boat", wing: "a" },
    { text: "boat", wing: "b" },
  ]) as [number, number];
  expect(await rowsOf("boat", { wing: "a" })).toEqual([one]);
  ledger.prepare("UPDATE drawer SET wing = 'a' WHERE row = ?").run(two);
  const [three] = insertDrawers(ledger, [{ text: "boat", wing: "a" }]) as [number];
  expect(await rowsOf("boat", { wing: "a" })).toEqual([one, two, three]);
  ledger.prepare("DELETE FROM drawer WHERE row = ?").run(one);
  expect(await rowsOf("boat", { wing: "a" })).toEqual([two, three]);
});

test("words that are adjacent as in the query score higher than words that are apart", async () => {
  const [near, apart] = insertDrawers(ledger, [
    { text: "a red boat lay at the shore" },
    { text: "a boat lay red at the shore" },
    { text: "nothing of the kind is here" },
    { text: "nor anything of it over there" },
  ]) as [number, number];
  const [higher, lower] = (await scoresOf("red boat", [near, apart])) as [number, number];
  expect(higher).toBeGreaterThan(lower);
  expect(await scoreOf("red", near)).toBeCloseTo(await scoreOf("red", apart), 10);
});

test("words and pairs count the same by their positions as in the texts", async () => {
  const joints = [" ", ", ", " - ", "\n", "; the "];
  const text = (words: number): string =>
    randomText(words).replace(/ /g, () => joints[Math.floor(random() * 5)] as string);
  const drawers = Array.from({ length: 200 }, () => ({
    text: text(1 + Math.floor(random() * 30)),
    dateWords: text(2),
  }));
  const rows = insertDrawers(ledger, drawers);
  for (const row of rows.filter((one) => one % 4 === 0))
    ledger.prepare("INSERT INTO heading (row, text) VALUES (?, ?)").run(row, text(3));
  const asked = "sail and wind, crew captain boat boats sailing storm";
  const byPositions = await index.score(asked, rows);
  // A row in `form_fts` makes the index read the text.
  for (const row of rows) ledger.prepare("INSERT INTO form_fts (rowid, text) VALUES (?, 'other')").run(row);
  const inTexts = await index.score(asked, rows);
  const rounded = (parts: LexicalParts): unknown =>
    [parts.drawer, parts.pairs, parts.coverage].map((part) => part.toFixed(9));
  expect(byPositions.map(rounded)).toEqual(inTexts.map(rounded));
  expect(byPositions.filter(({ pairs }) => pairs > 0).length).toBeGreaterThan(20);
});

test("a misspelled word finds the palace's word that differs in one letter, without being sure of it", async () => {
  const rows = insertDrawers(ledger, [
    { text: "the connection of the harbour" },
    { text: "a collection of shells" },
    { text: "boats and gulls" },
  ]);
  for (const asked of ["conection", "connecton", "connnection", "cnonection", "konnection"]) {
    expect(await rowsOf(asked)).toEqual([rows[0]]);
    expect((await index.score(asked, rows))[0]).toMatchObject({ coverage: 0, drawer: expect.closeTo(1.2, 0) });
  }
  const [sure, corrected] = await Promise.all(
    ["harbour", "harbour conection"].map(async (asked) => (await index.score(asked, rows))[0]?.coverage),
  );
  expect(sure).toBe(1);
  expect(corrected).toBeLessThan(0.5);
  expect(await rowsOf("cnoection")).toEqual([]);
});

test("a word is corrected only if it is unknown, long, no usual English word, and one of at most four such words", async () => {
  const [sail, board, , harbour] = insertDrawers(ledger, [
    { text: "a sail" },
    { text: "the board of the ship" },
    { text: "notes", sourceFile: "/docs/nodmon-plan.md" },
    { text: "harbour lantern nodemon mermaid read user" },
  ]) as [number, number, number, number];
  expect(await rowsOf("sahl")).toEqual([]);
  expect(await rowsOf("bord")).toEqual([]);
  expect(await rowsOf("beard")).toEqual([]);
  expect(await rowsOf("borad")).toEqual([board]);
  expect(await rowsOf("nodmon")).toEqual([]);
  expect(await rowsOf("nodemun")).toEqual([harbour]);
  expect(await rowsOf("sail harbuor")).toEqual([harbour, sail].sort((a, b) => a - b));
  // "readely" and "useric" have the stems of "read" and "user", but do not exist.
  expect(await rowsOf("readelf userid")).toEqual([]);
  expect(await rowsOf("zzzzza zzzzzb zzzzzc harbuor")).toEqual([harbour]);
  expect(await rowsOf("zzzzza zzzzzb zzzzzc zzzzzd harbuor")).toEqual([]);
});

test("a misspelling beside its right word counts the word once", async () => {
  const [row] = insertDrawers(ledger, [{ text: "to receive a parcel" }]) as [number];
  expect(await scoreOf("recieve receive parcel", row)).toBeCloseTo(await scoreOf("receive zzzzza parcel", row), 9);
});

test("in a large palace a word that was unknown is found, and no longer corrected, once a drawer has it", async () => {
  insertDrawers(
    ledger,
    Array.from({ length: 5_100 }, (_, at) => ({ text: `harbour ${at}` })),
  );
  expect(await rowsOf("harboor")).toHaveLength(10);
  const [row] = insertDrawers(ledger, [{ text: "harboor is a tool" }]) as [number];
  expect(await rowsOf("harboor")).toEqual([row]);
});

test("a drawer scores higher if other query words are elsewhere in its source", async () => {
  const [inSource, alone] = insertDrawers(ledger, [
    { text: "the harbour was calm", sourceFile: "log.md" },
    { text: "the harbour was calm" },
    { text: "a storm came up", sourceFile: "log.md" },
    { text: "quite another thing", sourceFile: "other.md" },
    { text: "and one more", sourceFile: "third.md" },
  ]) as [number, number];
  const [higher, lower] = (await scoresOf("storm harbour", [inSource, alone])) as [number, number];
  expect(higher).toBeGreaterThan(lower);
});

test("the words of a drawer's date are searched like its text", async () => {
  const [, dated] = insertDrawers(ledger, [
    { text: "sailing", dateWords: "7 May 2023 Sunday" },
    { text: "sailing", dateWords: "8 June 2023 Thursday" },
    { text: "rowing" },
  ]) as [number, number];
  expect(await rowsOf("what happened in June", {}, 1)).toEqual([dated]);
});

test("scores are in the order of the given rows, and are 0 for rows without a hit or without a drawer", async () => {
  const [boat, other] = insertDrawers(ledger, [{ text: "boat" }, { text: "car" }, { text: "cart" }]) as [
    number,
    number,
  ];
  const [unknown, none, some] = await scoresOf("boat", [999, other, boat]);
  expect([unknown, none]).toEqual([0, 0]);
  expect(some).toBeGreaterThan(0);
});

test("a query without words has no candidates and no scores", async () => {
  const rows = insertDrawers(ledger, [{ text: "boat" }]);
  expect(await rowsOf("?!")).toEqual([]);
  expect(await scoresOf("?!", rows)).toEqual([0]);
  expect(await scoresOf("boat", [])).toEqual([]);
});

test("a search finds a drawer that was just committed, and no longer finds a drawer that was just deleted", async () => {
  expect(await rowsOf("boat")).toEqual([]);
  const [row] = insertDrawers(ledger, [{ text: "boat" }]) as [number];
  expect(await rowsOf("boat")).toEqual([row]);
  ledger.prepare("DELETE FROM drawer WHERE row = ?").run(row);
  expect(await rowsOf("boat")).toEqual([]);
});

test("in a small palace the next search uses new word weights after drawers were replaced", async () => {
  insertDrawers(
    ledger,
    Array.from({ length: 100 }, (_, at) => ({ text: at < 50 ? "gull and rope" : "mast and rope" })),
  );
  const before = await scoreOf("gull", 1);
  ledger.exec("DELETE FROM drawer WHERE row BETWEEN 10 AND 50");
  insertDrawers(
    ledger,
    Array.from({ length: 41 }, () => ({ text: "mast and rope" })),
  );
  expect(await scoreOf("gull", 1)).toBeGreaterThan(2 * before);
});

test("a search in a large palace finds a rare word beside common words, and common words if the query has no rare word", async () => {
  const drawers: FixtureDrawer[] = Array.from({ length: 6000 }, (_, at) => ({
    text: `boat harbour number${at}`,
    wing: `w${at % 100}`,
  }));
  const rows = insertDrawers(ledger, drawers);
  expect((await rowsOf("boat harbour number4711"))[0]).toBe(rows[4711]);
  expect((await rowsOf("boat harbour", {}, 20)).length).toBe(20);
  expect((await rowsOf("number4711 boat", { wing: "w3" }, 20)).length).toBe(20);
  expect(await scoreOf("boat harbour number4711", rows[4711] as number)).toBeGreaterThan(
    await scoreOf("boat harbour", rows[4711] as number),
  );
});

test("SQLite's variable-length integers are decoded", () => {
  expect(decodeVarints(Uint8Array.from([5, 0x81, 0x00, 0x7f, 0x81, 0x80, 0x00]))).toEqual([5, 128, 127, 16384]);
  expect(decodeVarints(new Uint8Array())).toEqual([]);
});

test("a rarer term counts more, each further repetition of a term adds less, and a longer text scores lower", () => {
  expect(inverseFrequency(100, 1)).toBeGreaterThan(inverseFrequency(100, 50));
  expect(inverseFrequency(100, 100)).toBeGreaterThan(0);
  const [once, twice, thrice] = [1, 2, 3].map((count) => scoreTerm(1, count, 1)) as [number, number, number];
  expect(twice).toBeGreaterThan(once);
  expect(thrice - twice).toBeLessThan(twice - once);
  expect(scoreTerm(1, 1, 2)).toBeLessThan(once);
});
