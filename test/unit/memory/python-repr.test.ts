/** Error messages quote a refused value as Python does, up to a maximum length. */
import { expect, it } from "vitest";
import { pythonRepr } from "../../../src/memory/text/text.ts";

it("a refused value is quoted as Python quotes it", () => {
  expect(["a", "it's", `"it's"`, "a\n\\", "\u200bé\u00a0😀", "\u{e0001}"].map(pythonRepr)).toEqual([
    ...["'a'", `"it's"`, `'"it\\'s"'`, "'a\\n\\\\'", "'\\u200bé\\xa0😀'", "'\\U000e0001'"],
  ]);
});

it("only the beginning of a long text is quoted, and no character is split", () => {
  expect(pythonRepr("😀".repeat(5_000))).toBe(`'${"😀".repeat(4_000)}'`);
});
