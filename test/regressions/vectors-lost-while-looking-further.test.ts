/** Of a search that looked behind copies, and lost its vectors on the way there, the good answer it had already was thrown away. */
import { expect, test } from "vitest";
import { createSearchPalace } from "../helpers/search-palace.ts";

const TIDES = Array.from({ length: 26 }, (_, at) => `tide${"abcdefghijklmnopqrstuvwxyz".at(at)}`);
const COPIES = 130;
const TEXT = `The harbour master keeps the tables of the ${TIDES.join(" ")} tides in the blue cabinet.`;

test("what was found with vectors is kept when a look further down has to do without them", async () => {
  let questions = 0;
  const embed = (): Promise<Float32Array[]> =>
    (questions += 1) === 1
      ? Promise.resolve([new Float32Array(384).fill(1 / Math.sqrt(384))])
      : Promise.reject(new Error("the embedding thread has ended"));
  await using palace = await createSearchPalace(undefined, {
    embed,
    identity: { id: "test", dimensions: 384 },
    close: () => Promise.resolve(),
  });
  for (let copy = 0; copy < COPIES; copy++) palace.file(`${TEXT} ${".".repeat(copy)}`);
  const found = await palace.search("harbour tides", { limit: 2 });
  expect(questions).toBeGreaterThan(1);
  expect(found.results.length).toBeGreaterThan(0);
  expect(found).toMatchObject({ distinct_results_truncated: true });
  expect(found).not.toHaveProperty("vector_disabled");
});
