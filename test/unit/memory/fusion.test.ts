import { expect, test } from "vitest";
import { fuse } from "../../../src/memory/search/fusion.ts";

/** Returns a drawer's lexical scores. `drawer`: score of its own words. `meaning`: its static cosine. */
const words = (drawer: number, meaning = 0, identifiers = 0) => ({
  ...{ drawer, pairs: 0, source: 0, coverage: 0 },
  ...{ meaning, identifiers, names: 0, file: 0 },
});
const rows = (ranked: { row: number }[]): number[] => ranked.map(({ row }) => row);

const scores = (ranked: { score: number }[]): number[] => ranked.map(({ score }) => Math.round(score * 1000) / 1000);

test("a hit's score is the weighted sum of cosine, static cosine and share of the best lexical score", () => {
  const candidates = [
    { row: 1, words: words(4, 0.5), cosine: 0.2 },
    { row: 2, words: words(2, 0.1), cosine: 0.9 },
    { row: 3, words: words(0, 1), cosine: 0.95 },
  ];
  const hybrid = fuse(candidates, "hybrid");
  expect(rows(hybrid)).toEqual([3, 1, 2]);
  expect(scores(hybrid)).toEqual([0.622, 0.572, 0.532]);
  expect(scores(fuse(candidates, "static"))).toEqual([0.71, 0.58, 0.268]);
});

test("a drawer without a vector keeps its rank, because its similarity is estimated", () => {
  const drawers = [1, 2, 3].map((row) => ({ row, words: words(6 - row, 0.5), cosine: 0.3 + 0.12 / row }));
  const waiting = drawers.map((one) => ({ ...one, cosine: one.row === 2 ? Number.NaN : one.cosine }));
  expect(rows(fuse(waiting, "hybrid"))).toEqual(rows(fuse(drawers, "hybrid")));
  expect(Math.abs((fuse(waiting, "hybrid")[1]?.near.cosine ?? 0) - 0.36)).toBeLessThan(0.15);
});

test("a drawer with the question's identifiers ranks above a drawer with more of the question's other words", () => {
  const candidates = [
    { row: 1, words: words(10, 0.4), cosine: 0.4 },
    { row: 2, words: words(7, 0.4, 1), cosine: 0.4 },
  ];
  expect(rows(fuse(candidates, "hybrid"))).toEqual([2, 1]);
  expect(rows(fuse(candidates, "static"))).toEqual([2, 1]);
});

test("lexical mode ignores cosines, and vector mode ignores words", () => {
  const candidates = [
    { row: 1, words: words(1), cosine: 0.9 },
    { row: 2, words: words(2), cosine: 0.1 },
    { row: 3, words: words(3), cosine: Number.NaN },
  ];
  expect(rows(fuse(candidates, "lexical"))).toEqual([3, 2, 1]);
  expect(rows(fuse(candidates, "vector"))).toEqual([1, 2]);
});

test("hits with equal scores are in row order", () => {
  const candidates = [9, 3, 7].map((row) => ({ row, words: words(1), cosine: 0.5 }));
  expect(rows(fuse(candidates, "hybrid"))).toEqual([3, 7, 9]);
});

test("if no hit has a lexical score, the scores are still numbers", () => {
  expect(fuse([{ row: 1, words: words(0), cosine: 0.4 }], "hybrid")[0]?.score).toBeCloseTo(0.144);
  expect(fuse([{ row: 1, words: words(0), cosine: 0.4 }], "lexical")[0]?.score).toBe(0);
  expect(fuse([], "hybrid")).toEqual([]);
});

test("word pairs and words of the source count less than the drawer's own words", () => {
  const parts = (drawer: number, pairs: number, source: number) => ({
    ...words(drawer),
    ...{ pairs, source },
  });
  const ranked = fuse(
    [
      { row: 1, words: parts(10, 0, 0), cosine: Number.NaN },
      { row: 2, words: parts(0, 20, 20), cosine: Number.NaN },
    ],
    "lexical",
  );
  expect(ranked).toMatchObject([
    { row: 2, lexical: 12, score: 1 },
    { row: 1, lexical: 10, score: 10 / 12 },
  ]);
});
