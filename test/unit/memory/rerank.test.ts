/** Tests that the search tool puts its first hits into a cross-encoder's order, on a real ledger that is searched by words. */
import { expect, test } from "vitest";
import { RERANKED_MAX } from "../../../src/memory/search/rerank.ts";
import type { Reranker } from "../../../src/memory/port/search.ts";
import { PalaceError } from "../../../src/base/errors.ts";
import { createSearchPalace } from "../../helpers/search-palace.ts";

/** Model that prefers texts with a higher number at their end. */
const byNumber: Reranker = {
  rerank: (_, texts) => Promise.resolve(texts.map((text) => Number(/\d+$/.exec(text)?.[0] ?? 0))),
};
/** Returns `harbour` with `at` other words. Fewer other words give a higher BM25 score. No two texts are near-duplicates. */
const note = (at: number): string =>
  `harbour ${Array.from({ length: at }, (_, word) => `w${at}x${word}`).join(" ")} ${at}`;

async function search(
  reranker: Reranker | undefined,
  more: Record<string, unknown> = {},
  notes = 25,
): Promise<{ order: number[]; scores: unknown[]; answer: Record<string, unknown> }> {
  await using palace = await createSearchPalace(reranker);
  for (let at = 1; at <= notes; at++) palace.file(note(at));
  const answer = await palace.search("harbour", { limit: 100, ...more });
  const order = answer.results.map(({ text }) => Number(/\d+$/.exec(text)?.[0]));
  return { order, scores: answer.results.map(({ score }) => score), answer };
}

test("the first hits get the model's order; the list of scores and the order of the other hits stay the same", async () => {
  const before = await search(undefined);
  const after = await search(byNumber);
  expect(after.order).toEqual([
    ...before.order.slice(0, RERANKED_MAX).sort((a, b) => b - a),
    ...before.order.slice(RERANKED_MAX),
  ]);
  expect(after.scores).toEqual(before.scores);
});

test("explain shows each hit's model score and its rank without the model, or why no model was used", async () => {
  const without = await search(undefined, { explain: true }, 3);
  const { answer } = await search(byNumber, { explain: true }, 3);
  expect(answer).toMatchObject({
    reranked: { state: "used", detail: "the first 3 hits" },
    results: [
      { explain: { rerank: { logit: 3, place_before: without.order.indexOf(3) + 1 } } },
      { explain: { rerank: { logit: 2, place_before: without.order.indexOf(2) + 1 } } },
      { explain: { rerank: { logit: 1, score_before: without.scores[without.order.indexOf(1)] } } },
    ],
  });
  expect(without.answer).toMatchObject({ reranked: { state: "off", detail: "no cross-encoder" } });
  expect(without.answer["results"]).not.toHaveProperty("0.explain.rerank");
  expect((await search(byNumber, {}, 3)).answer).not.toHaveProperty("reranked");
});

test("a cross-encoder that fails or is late changes no hit", async () => {
  const failing: Reranker = {
    rerank: () => Promise.reject(new PalaceError("STORE_UNAVAILABLE", "not reranked in time", "")),
  };
  const [before, after] = [await search(undefined), await search(failing, { explain: true })];
  expect({ order: after.order, scores: after.scores }).toEqual({ order: before.order, scores: before.scores });
  expect(after.answer).toMatchObject({ reranked: { state: "failed", detail: "not reranked in time" } });
});
