import { expect, test } from "vitest";
import { fuse } from "../../../src/memory/search/fusion.ts";

/** Lexical scores of a drawer with this score for its own words. */
const words = (drawer: number) => ({ drawer, pairs: 0, source: 0, coverage: 0 });
const rows = (ranked: { row: number }[]): number[] => ranked.map(({ row }) => row);

test("the score is half cosine, half the share of the best lexical score", () => {
  const ranked = fuse(
    [
      { row: 1, words: words(4), cosine: 0.2 },
      { row: 2, words: words(2), cosine: 0.9 },
      { row: 3, words: words(0), cosine: 0.95 },
    ],
    "hybrid",
  );
  expect(rows(ranked)).toEqual([2, 1, 3]);
  expect(ranked.map(({ score }) => score)).toEqual([0.7, 0.6, 0.475]);
});

test("a drawer without a vector is ranked by its words alone", () => {
  const candidates = [
    { row: 1, words: words(10), cosine: Number.NaN },
    { row: 2, words: words(5), cosine: 0.9 },
  ];
  expect(fuse(candidates, "hybrid")).toMatchObject([
    { row: 1, score: 1 },
    { row: 2, score: 0.7 },
  ]);
});

test("lexical mode ignores cosines, vector mode ignores words", () => {
  const candidates = [
    { row: 1, words: words(1), cosine: 0.9 },
    { row: 2, words: words(2), cosine: 0.1 },
    { row: 3, words: words(3), cosine: Number.NaN },
  ];
  expect(rows(fuse(candidates, "lexical"))).toEqual([3, 2, 1]);
  expect(rows(fuse(candidates, "vector"))).toEqual([1, 2]);
});

test("equal scores are in row order", () => {
  const candidates = [9, 3, 7].map((row) => ({ row, words: words(1), cosine: 0.5 }));
  expect(rows(fuse(candidates, "hybrid"))).toEqual([3, 7, 9]);
});

test("if no hit has a lexical score, the scores are still numbers", () => {
  expect(fuse([{ row: 1, words: words(0), cosine: 0.4 }], "hybrid")[0]?.score).toBe(0.2);
  expect(fuse([{ row: 1, words: words(0), cosine: 0.4 }], "lexical")[0]?.score).toBe(0);
  expect(fuse([], "hybrid")).toEqual([]);
});

test("pairs and the source count less than the drawer's own words", () => {
  const parts = (drawer: number, pairs: number, source: number) => ({ drawer, pairs, source, coverage: 1 });
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
