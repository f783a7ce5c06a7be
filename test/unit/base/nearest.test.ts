import { expect, test } from "vitest";
import { nearestWord } from "../../../src/base/nearest.ts";

const verbs = ["up", "start", "stop", "status", "search", "doctor", "why"];

test.each([
  ["serach", "search"],
  ["stp", "stop"],
  ["doc", "doctor"],
  ["statsu", "status"],
  ["strat", "start"],
])("%s is corrected to %s", (typed, meant) => {
  expect(nearestWord(typed, verbs)).toBe(meant);
});

test("a word that resembles no verb gets no suggestion", () => {
  expect(nearestWord("backup", verbs)).toBeUndefined();
  expect(nearestWord("x", verbs)).toBeUndefined();
});
