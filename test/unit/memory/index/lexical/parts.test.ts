import { expect, test } from "vitest";
import { askedParts, indexedParts, partCounter } from "../../../../../src/memory/index/lexical/parts.ts";
import { createSearchPalace } from "../../../../helpers/search-palace.ts";

const share = (word: string, text: string): number => partCounter([askedParts([word])])(text)[0] as number;

test("long words of languages other than English are cut into distinct parts; code, tables and short words are not", () => {
  expect(indexedParts("Serverumzug, serverumzug")).toEqual(
    ["serv", "erve", "rver", "veru", "erum", "rumz", "umzu", "mzug"].map((part) => `·${part}`),
  );
  expect(indexedParts("Der Umzug war gut")).toEqual([]);
  expect(indexedParts("очередь")).toHaveLength(4);
  expect(indexedParts("バックアップは九十日に決まった")).toEqual([]);
  expect(indexedParts("The configuration of that deployment was changed.")).toEqual([]);
  expect(indexedParts("const configuration = { retries: 3, 'timeout': [1, 2] };")).toEqual([]);
});

test("a long word shares parts with a word inside it, and shares most of its parts with the same word in another form", () => {
  expect(share("umzug", "Die Serverumzugsplanung")).toBeCloseTo(1);
  expect(share("очередь", "в очереди")).toBeCloseTo(3 / 4);
  expect(share("planet", "Die Serverumzugsplanung")).toBe(0);
  expect(share("umzug", "The plan for that Serverumzug")).toBe(0);
});

test("a drawer with the word itself ranks before a drawer with a longer word that contains it, and no other drawer is found", async () => {
  await using palace = await createSearchPalace();
  const texts = ["Die Serverumzugsplanung ist fertig.", "Der Umzug ist fertig.", "Die Rechnung ist fertig."];
  for (const text of texts) palace.file(text);
  expect(await palace.texts("Umzug", { mode: "lexical" })).toEqual([texts[1], texts[0]]);
});
