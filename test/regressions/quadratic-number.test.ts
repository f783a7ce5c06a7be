/** General extraction looked for a text like "10x faster" from each digit of a long number, so a transcript with a dump took hours. */
import { expect, it } from "vitest";
import { extractMemories } from "../../src/feeders/convo-miner/general.ts";
import { cpuTimeOf } from "../helpers/cpu-time.ts";

it("a long number is read in linear time", () => {
  cpuTimeOf(() => extractMemories("1".repeat(1000)));
  // Five times the text: five times the work if linear, 25 times if quadratic. The limit allows for a busy machine.
  const small = Math.max(
    cpuTimeOf(() => extractMemories("1".repeat(4_000))),
    5,
  );
  expect(cpuTimeOf(() => extractMemories("1".repeat(20_000))) / small).toBeLessThan(15);
});

it("a text with `120x faster` is extracted as a milestone", () => {
  const text = "we finally shipped it and it is 120x faster and 40% smaller than it was before the weekend";
  expect(extractMemories(text)).toEqual([{ text, type: "milestone" }]);
});
