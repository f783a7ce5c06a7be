/** What is refused is quoted in messages as Python quotes it, and no more of it than a message can show. */
import { expect, it } from "vitest";
import { pythonRepr } from "../../../src/memory/text/python-repr.ts";

it("what is refused is quoted as Python quotes it", () => {
  expect(["a", "it's", `"it's"`, "a\n\\", "\u200bé\u00a0😀", "\u{e0001}"].map(pythonRepr)).toEqual([
    ...["'a'", `"it's"`, `'"it\\'s"'`, "'a\\n\\\\'", "'\\u200bé\\xa0😀'", "'\\U000e0001'"],
  ]);
});

it("of a long text the beginning is quoted, never half of a character", () => {
  expect(pythonRepr("😀".repeat(5_000))).toBe(`'${"😀".repeat(4_000)}'`);
});
