import { expect, test } from "vitest";
import { nowAt } from "../../../src/memory/graph/temporal.ts";
import { NO_PARTS } from "../../../src/memory/port/search.ts";
import { chooseHits } from "../../../src/memory/search/choose.ts";
import { replaces, statedIn } from "../../../src/memory/search/superseded.ts";

const [JANUARY, MARCH] = ["2025-01-01T10:00:00Z", "2025-03-01T10:00:00Z"];
const isReplaced = (older: string, newer: string, more: object = {}, wing = "w"): boolean => {
  const stated = (text: string, at: string, place: string, metadata: object) =>
    statedIn({ row: 1, id: at, wing: place, room: "r", text, metadata: { filed_at: at, ...metadata } });
  const [then, now] = [stated(older, JANUARY, "w", {}), stated(newer, MARCH, wing, more)];
  return then !== undefined && now !== undefined && replaces(now, then) && !replaces(then, now);
};

test.each([
  ["We deploy on Fridays.", "We deploy on Tuesdays now."],
  ["we deploy on Fridays", "we deploy on Tuesdays"],
  ["The café is called Nordlicht.", "Good news! The café is called Ankerplatz now."],
  ["We use Redis for sessions.", "We use Postgres for sessions now."],
  ["Our budget is 900 euros.", "Our budget is 1,200 euros."],
])("the statement %s is replaced by: %s", (older, newer) => {
  expect(isReplaced(older, newer)).toBe(true);
});

test.each([
  ["another subject", "Room 3 is locked.", "Room 4 is locked."],
  ["another subject with a word of change", "The backup of db-1 runs nightly.", "The backup of db-2 runs nightly now."],
  ["two events", "I ran 5 km on Sunday.", "I ran 8 km on Sunday."],
  ["another attribute", "We deploy on Fridays.", "We eat on Tuesdays now."],
  ["another place", "We use Redis in production.", "We use Redis in staging now."],
  ["the same again", "We deploy on Fridays.", "We deploy on Fridays."],
])("%s: the newer statement does not replace the older statement", (_, older, newer) => {
  expect(isReplaced(older, newer)).toBe(false);
});

test("a statement in another wing or in a document does not replace an earlier statement", () => {
  const [older, newer] = ["We deploy on Fridays.", "We deploy on Tuesdays now."];
  expect(isReplaced(older, newer, {}, "other")).toBe(false);
  expect(isReplaced(older, newer, { source_file: "/docs/deploy.md" })).toBe(false);
});

/** Returns the hits, as ids with their scores, for statements of one place in the order of their times. */
function chosen(statements: readonly (readonly [text: string, score: number])[]): [string, number][] {
  const drawers = statements.map(([text], at) => {
    const metadata = { filed_at: `2025-0${at + 1}-01T10:00:00Z` };
    return { row: at + 1, id: `${at + 1}`, text, wing: "w", room: "r", metadata };
  });
  const ranked = statements.map(([, score], at) => ({
    ...{ row: at + 1, words: NO_PARTS, cosine: Number.NaN, lexical: 0, lexicalShare: 0, score, fileScore: 0 },
    near: { cosine: 0, meaning: 0 },
  }));
  const graph = { hasFacts: () => false };
  const reader = { drawersByRow: () => drawers, exchangeOf: () => undefined, standings: () => new Map(), graph };
  const hits = chooseHits(reader as never, ranked, {
    ...{ limit: 5, dates: [], now: nowAt(0), adjustByOutcomes: () => [], preferred: new Set<string>() },
  });
  for (const { adjustments } of hits) for (const { factor } of adjustments) expect(factor).toBeGreaterThan(0);
  return hits.map(({ drawer, ranked: { score } }) => [drawer.id, score]);
}

test.each([
  ["positive", 0.6, 0.3],
  ["negative", -0.1, -0.2],
  ["zero", 0, 0],
])("with %s scores a replaced statement comes after its successor", (_, older, newer) => {
  const hits = chosen([
    ["We deploy on Fridays.", older],
    ["We deploy on Tuesdays now.", newer],
  ]);
  expect(hits).toEqual([
    ["2", newer],
    ["1", newer],
  ]);
});

test("of three statements that replace each other, the newest comes first and the oldest last", () => {
  const hits = chosen([
    ["We deploy on Fridays.", 0.9],
    ["We deploy on Tuesdays now.", 0.6],
    ["We deploy on Mondays now.", 0.3],
  ]);
  expect(hits.map(([id]) => id)).toEqual(["3", "2", "1"]);
});
