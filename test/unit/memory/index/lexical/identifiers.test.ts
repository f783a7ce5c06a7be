import { expect, test } from "vitest";
import { identifiersOf, shareHeld } from "../../../../../src/memory/index/lexical/identifiers.ts";

test.each([
  ["what does SIGUSR1 mean to node?", ["SIGUSR1"]],
  ["how do I raise --max-old-space-size, please", ["--max-old-space-size"]],
  ["is NODE_OPTIONS read before `select_related`?", ["NODE_OPTIONS", "select_related"]],
  ["does fs.cp copy symlinks.", ["fs.cp"]],
  ["use node:fs/promises or fsPromises", ["node:fs/promises", "fsPromises"]],
  ["the README says HTTP", ["README", "HTTP"]],
  ["utf8 in http2", ["utf8", "http2"]],
  ["where did we go on the 3rd at 5pm, in the 1990s", []],
  ["Who is Anna's friend? I don't know...", []],
  ["see https://example.com/a_b", []],
])("the identifiers in %j are %j", (question, identifiers) => {
  expect(identifiersOf(question)).toEqual(identifiers);
});

test("an identifier matches only as a whole word with the same upper and lower case", () => {
  expect(shareHeld(["fs.cp"], "call fs.cp(a, b)")).toBe(1);
  expect(shareHeld(["fs.cp"], "call fs.cpSync(a, b)")).toBe(0);
  expect(shareHeld(["NODE_OPTIONS"], "node_options")).toBe(0);
  expect(shareHeld(["fs.cp", "fs.rm"], "fs.cpSync, then fs.cp; afs.rm")).toBe(0.5);
  expect(shareHeld([], "anything")).toBe(0);
});
