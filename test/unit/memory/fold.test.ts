import { expect, test } from "vitest";
import { fingerprintOf, Folder, isNearlySame } from "../../../src/memory/search/fold.ts";

const WORDS =
  "we moved the nightly backup of the ledger to the other disk because the first one was always full by noon".split(
    " ",
  );
const TEXT = [...WORDS, ...WORDS.toReversed()].join(" ");
const same = (a: string, b: string): boolean => isNearlySame(fingerprintOf(a), fingerprintOf(b));

test("texts that differ only in case, spaces and punctuation, or in one of many words, are near-duplicates", () => {
  expect(same(TEXT, `  ${TEXT.toUpperCase().replaceAll(" ", ",\n ")}!`)).toBe(true);
  expect(same(TEXT, `${TEXT} indeed`)).toBe(true);
});

test("texts with another number, of another length or about something else do not count as near-duplicates", () => {
  expect(same(`${TEXT} on port 8080`, `${TEXT} on port 8081`)).toBe(false);
  expect(same(TEXT, WORDS.join(" "))).toBe(false);
  expect(same(TEXT, TEXT.split(" ").toReversed().join(" ").replaceAll("the", "a"))).toBe(false);
  expect(same("sprint review moved to monday", "sprint review moved to tuesday")).toBe(false);
  expect(same("?!", "…")).toBe(false);
});

test("a near-duplicate is found among many texts", () => {
  const folder = new Folder<number>();
  for (let at = 0; at < 200; at++) folder.add(fingerprintOf(`${TEXT} and then item number ${at}`), at);
  expect(folder.find(fingerprintOf(`${TEXT} and then the item number 77`))).toBe(77);
  expect(folder.find(fingerprintOf(`${TEXT} and then item number 777`))).toBeUndefined();
});
