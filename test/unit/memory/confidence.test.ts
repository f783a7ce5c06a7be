/** Tests which hits count as weak. The measured figures are in docs/lab/figures.md. */
import { expect, test } from "vitest";
import { isWeakMatch } from "../../../src/memory/search/confidence.ts";

const candidate = (cosine: number, coverage: number, meaning = Number.NaN) => ({
  cosine,
  words: { ...{ drawer: 0, pairs: 0, source: 0, coverage }, ...{ identifiers: 0, names: 0, file: 0, meaning } },
});

test("a short drawer with a similar meaning is not weak, even without matching words; a long or less similar drawer is weak", () => {
  expect(isWeakMatch(candidate(0.486, 0), 24)).toBe(false);
  expect(isWeakMatch(candidate(0.387, 0.25), 800)).toBe(true);
  expect(isWeakMatch(candidate(0.3, 0), 24)).toBe(true);
});

test("a drawer without a model vector is judged by its static vector", () => {
  expect(isWeakMatch(candidate(Number.NaN, 0.2, 0.5), 800)).toBe(false);
  expect(isWeakMatch(candidate(Number.NaN, 0.2, 0.4), 800)).toBe(true);
  expect(isWeakMatch(candidate(Number.NaN, 0, 0.4), 24)).toBe(false);
});

test("a short drawer without any vector is judged by its words", () => {
  expect([isWeakMatch(candidate(Number.NaN, 0.2), 24), isWeakMatch(candidate(Number.NaN, 0.5), 24)]).toEqual([
    true,
    false,
  ]);
});

test("a hit of one sentence of a long prompt is weak if its static vector is far from the sentence, or if the sentence has a low weight", () => {
  const found = (cosine: number, meaning: number, sentenceWeight = 1) => ({
    ...candidate(cosine, 0.3, meaning),
    sentenceWeight,
  });
  expect(isWeakMatch(candidate(0.45, 0.3, 0.2), 800)).toBe(false);
  expect(isWeakMatch(found(0.45, 0.2), 800)).toBe(true);
  expect(isWeakMatch(found(0.45, 0.45), 800)).toBe(false);
  expect(isWeakMatch(found(0.45, 0.45, 0.8), 800)).toBe(true);
  expect(isWeakMatch(found(0.45, Number.NaN), 800)).toBe(false);
  expect(isWeakMatch(found(Number.NaN, 0.45, 0.8), 800)).toBe(true);
  expect(isWeakMatch(found(0.37, 0.36), 24)).toBe(false);
  expect(isWeakMatch(found(0.37, 0.36, 0.9), 24)).toBe(true);
});
