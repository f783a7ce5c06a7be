/** Tests which hall a text belongs to: the first hall with the most keywords that are substrings of the text. */
import { expect, test } from "vitest";
import { hallOf } from "../../../src/memory/drawer/hall.ts";
import { KeywordScanner } from "../../../src/memory/drawer/keywords.ts";

test.each([
  ["nothing of it", "general"],
  ["A bug in the API", "technical"],
  ["Conscious", "consciousness"],
  ["gameplay", "creative"],
  ["happy code", "emotions"],
  ["é love 😀 hate", "emotions"],
])("%s belongs to hall %s", (text, hall) => expect(hallOf(text)).toBe(hall));

test("the keyword scanner finds the same keywords as String.includes, also overlapping keywords", () => {
  const keywords = ["ab", "abc", "bc", "c", "cab", "b a"];
  const scanner = new KeywordScanner(keywords.map((keyword, owner) => ({ keyword, owner })));
  let seed = 7;
  for (let round = 0; round < 2000; round++) {
    let text = "";
    for (let i = 0; i < 8; i++) text += "abc é"[(seed = (seed * 48271) % 2147483647) % 5];
    const expected = keywords.flatMap((keyword, owner) => (text.includes(keyword) ? [owner] : []));
    expect(scanner.foundIn(text).sort(), text).toEqual(expected);
  }
});
