import { expect, test } from "vitest";
import { sourceFiles } from "./source-files.ts";

/** Returns the numbers of the lines that cast the result of `JSON.parse` to another type than `unknown`. */
function casts(text: string): number[] {
  return [...text.matchAll(/JSON\.parse\(/g)].flatMap(({ index }) => {
    let depth = 0;
    let at = index + "JSON.parse".length;
    do depth += { "(": 1, ")": -1 }[text.charAt(at++)] ?? 0;
    while (depth > 0 && at < text.length);
    const isCast = /^(?:\s*\?\?[^;,()]*)?\)?\s+as\s+(?!unknown\b(?!\[))/.test(text.slice(at));
    return isCast ? [text.slice(0, index).split("\n").length] : [];
  });
}

test("the check of JSON.parse finds a cast over several lines or behind a default value", () => {
  expect(casts('x;\nJSON.parse(\n  read(f("a")),\n) as {\n a: 1 }')).toEqual([2]);
  expect(casts("(JSON.parse(text) ?? {}) as Record<string, unknown>")).toEqual([1]);
  expect(casts("JSON.parse(text) as unknown; JSON.parse(text)")).toEqual([]);
  expect(casts("JSON.parse(text) as unknown[]")).toEqual([1]);
});

test("src casts no result of JSON.parse, because parse-json.ts and memory/ledger/json-column.ts check each result", () => {
  const found = sourceFiles("src").flatMap(({ path, text }) => casts(text).map((line) => `${path}:${line}`));
  expect(found).toEqual([]);
});
