import { expect, test } from "vitest";
import { EXACT_DRAWERS_MAX, pickWords } from "../../../../../src/memory/index/lexical/pick-words.ts";
import { matchAny, matchPhrase, parseQuery } from "../../../../../src/memory/index/lexical/query.ts";

test("stop words, apostrophes and the possessive are removed, and words are stemmed", () => {
  expect(parseQuery("When did Caroline's sister go hiking? I don't know.")).toMatchObject({
    words: ["caroline", "sister", "go", "hiking", "know"],
    terms: ["carolin", "sister", "go", "hike", "know"],
    pairs: [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
    ],
  });
});

test("a query that has only stop words keeps them", () => {
  expect(parseQuery("what is it").words).toEqual(["what", "is", "it"]);
});

test("a repeated word, in any form, is one term", () => {
  const { terms, pairs } = parseQuery("paint painting paint sunset paints");
  expect(terms).toEqual(["paint", "sunset"]);
  expect(pairs).toEqual([
    [0, 0],
    [0, 1],
    [1, 0],
  ]);
});

test("a query without any word has no terms", () => {
  expect(parseQuery(" … ?! ")).toMatchObject({ words: [], terms: [], pairs: [] });
});

test("FTS5 syntax in a query is quoted", () => {
  expect(matchAny(parseQuery('cats" OR NEAR(dogs*) -x:y').words)).toBe('"cats" OR "near" OR "dogs" OR "x" OR "y"');
  expect(matchPhrase(["red", "boat"])).toBe('"red boat"');
});

test("a very long query is truncated", () => {
  expect(parseQuery(Array.from({ length: 5000 }, (_, at) => `word${at}`).join(" ")).words.length).toBe(64);
});

test("in a small palace a search uses all words of the query", () => {
  expect(pickWords([5000, 1, 0], EXACT_DRAWERS_MAX)).toEqual([0, 1, 2]);
});

test("in a large palace a search uses the rare words, and at least one word", () => {
  expect(pickWords([40_000, 12, 800, 0], 50_000)).toEqual([3, 1, 2]);
  expect(pickWords([40_000, 30_000], 50_000)).toEqual([1]);
  expect(pickWords([40_000, 0], 50_000)).toEqual([1, 0]);
});
