/** If the model failed while a search looked for more hits behind copies of one text, the search dropped its first hits. */
import { expect, test } from "vitest";
import type { Clock } from "../../src/base/clock.ts";
import { createSearchPalace } from "../helpers/search-palace.ts";

const TIDES = Array.from({ length: 26 }, (_, at) => `tide${"abcdefghijklmnopqrstuvwxyz".at(at)}`);
const COPIES = 130;
const identity = { id: "test", dimensions: 384 };
const close = (): Promise<void> => Promise.resolve();
/** Clock whose waits never end, so that a search does not time out on a busy machine. */
const STILL: Clock = { now: () => 0, after: () => ({ clear: () => {} }) };
/** Clock whose waits end at once. */
const OVER: Clock = {
  now: () => 0,
  after: (_ms, call) => {
    const timer = setImmediate(call);
    return { clear: () => clearImmediate(timer) };
  },
};
const TEXT = `The harbour master keeps the tables of the ${TIDES.join(" ")} tides in the blue cabinet.`;

test("a search keeps its hits by meaning if the model fails while the search looks for more hits", async () => {
  let questions = 0;
  const embed = (): Promise<Float32Array[]> =>
    (questions += 1) === 1
      ? Promise.resolve([new Float32Array(384).fill(1 / Math.sqrt(384))])
      : Promise.reject(new Error("the embedding thread has ended"));
  await using palace = await createSearchPalace(undefined, { embed, identity, close }, STILL);
  for (let copy = 0; copy < COPIES; copy++) palace.file(`${TEXT} ${".".repeat(copy)}`);
  const found = await palace.search("harbour tides", { limit: 2 });
  expect(questions).toBeGreaterThan(1);
  expect(found.results.length).toBeGreaterThan(0);
  expect(found).toMatchObject({ distinct_results_truncated: true });
  expect(found).not.toHaveProperty("vector_disabled");
});

test("a search that does not get the question's vector in time answers by words and says so", async () => {
  const embed = (): Promise<Float32Array[]> => new Promise(() => {});
  await using palace = await createSearchPalace(undefined, { embed, identity, close }, OVER);
  palace.file(TEXT);
  expect(await palace.search("harbour tides")).toMatchObject({
    results: [{ text: TEXT }],
    vector_disabled: true,
    vector_disabled_reason: "the vector search did not answer in time",
  });
});
