/** Tests which texts a prompt is searched with. Their size is bounded, whatever an agent sends. */
import { expect, test } from "vitest";
import { identifiersOf } from "../../../src/memory/index/lexical/identifiers.ts";
import { partsOf, sanitizeQuery } from "../../../src/memory/search/query-sanitizer.ts";

const parts = (prompt: string): string[] => partsOf(prompt, sanitizeQuery(prompt));
const FIRST = "We have a gateway behind a proxy.";
const LAST = "How do I switch the cache off for one loader?";

test("a short prompt is one text", () => {
  expect(parts(LAST)).toEqual([LAST]);
});

test("a long prompt is searched with as a whole and by sentence, without its greeting", () => {
  const prompt = `Hi there! ${FIRST} ${"It was set up by a colleague last year. ".repeat(5)}${LAST} Thanks!`;
  expect(parts(prompt)).toEqual([prompt, FIRST, "It was set up by a colleague last year.", LAST]);
});

test("a huge prompt is searched with by its beginning and its end, in few texts with few identifiers", () => {
  const log = Array.from({ length: 40_000 }, (_, at) => `at step_${at} of the build something_${at} failed.`).join(
    "\n",
  );
  const found = parts(`${FIRST}\n${log}\n${LAST}`);
  expect(found.length).toBeLessThan(20);
  expect(found.join("").length).toBeLessThan(30_000);
  expect(found).toContain(FIRST);
  expect(found).toContain(LAST);
  expect(identifiersOf(found[0] ?? "").length).toBeLessThan(20);
});
