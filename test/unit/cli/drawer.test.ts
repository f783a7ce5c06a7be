/** Tests how much of an id the user must type before the drawer with this id is erased. */
import { expect, test } from "vitest";
import { isEnoughToErase } from "../../../src/cli/terminal/drawer.ts";

const ID = "drawer_cafe_notes_0123456789abcdef01234567";

test.each([
  [ID, ID, true],
  [`${ID}_chunk_2`, ID, true],
  ["0123", ID, true],
  ["012", ID, false],
  ["drawer_cafe_notes_0123", ID, true],
  ["drawer_cafe_notes_012", ID, false],
  // This text has only the wing, without a digit of the hash.
  ["cafe", ID, false],
  ["x1", "x1", true],
  ["patterns_0000", "patterns_0000000b", true],
  ["patterns", "patterns_0000000b", false],
])("the text %s is enough to erase drawer %s: %s", (given, id, isEnough) => {
  expect(isEnoughToErase(given, id)).toBe(isEnough);
});
