/** A feeder's chunk sizes and halls are limited. Cutting therefore always ends, and no source fills the ledger in one write. */
import { expect, test } from "vitest";
import { hallFinder, hallList, hallOf } from "../../../src/memory/drawer/hall.ts";
import { chunkDocument, USUAL_CUT, validCut } from "../../../src/memory/source/chunk.ts";
import { structuralEntities } from "../../../src/memory/source/structural-entities.ts";
import { SOURCE_DRAWERS_MAX } from "../../../src/protocol/limits.ts";
import { cpuTimeOf } from "../../helpers/cpu-time.ts";

test("the default chunk sizes are MemPalace's, and other sizes are accepted only if cutting ends", () => {
  expect(validCut(undefined)).toBe(USUAL_CUT);
  expect(validCut({ size: 3, overlap: 1, sizeMin: 3, more: 1 })).toEqual({ size: 3, overlap: 1, sizeMin: 3 });
  for (const wrong of [null, 7, "800", [], {}])
    expect(() => validCut(wrong), JSON.stringify(wrong)).toThrow("cut must be");
  for (const [size, overlap, sizeMin] of [
    [0, 0, 0],
    [3, 2, 0],
    [1, 1, 0],
    [10, 0, 11],
    [10.5, 0, 0],
    [10, -1, 0],
    [100_001, 0, 0],
    ["10", 0, 0],
  ])
    expect(() => validCut({ size, overlap, sizeMin })).toThrow("cut must be");
});

test("cutting with any allowed sizes ends and drops only white space", () => {
  const text = "ab\ncd\n\nefgh 😀\n\n\ni".repeat(9);
  for (let size = 1; size <= 12; size++)
    for (let overlap = 0; overlap <= Math.floor(size / 2); overlap++) {
      const chunks = chunkDocument(text, { size, overlap, sizeMin: 0 });
      const letters = new Set(chunks.flatMap((chunk) => Array.from(chunk.text)));
      for (const letter of "abcdefghi😀") expect(letters, `${size} ${overlap}`).toContain(letter);
    }
});

test("cutting stops when there are more drawers than one write accepts", () => {
  const chunks = chunkDocument("x".repeat(SOURCE_DRAWERS_MAX + 500), { size: 1, overlap: 0, sizeMin: 0 });
  expect(chunks).toHaveLength(SOURCE_DRAWERS_MAX + 1);
});

test("with custom halls the hall with the most keywords wins, the first of equal halls wins, and keywords are case-sensitive", () => {
  const find = hallFinder([
    ["first", ["Bug", "naïve"]],
    ["second", ["bug", "naïve"]],
    ["none", []],
  ]);
  expect(find("A Bug")).toBe("second");
  expect(find("NAÏVE")).toBe("first");
  expect(find("A naïve bug")).toBe("second");
  expect(find("nothing")).toBe("general");
  expect(hallFinder(undefined)).toBe(hallOf);
  expect(hallFinder([])("a bug")).toBe("general");
});

test("a value that is not a list of halls is refused", () => {
  expect(hallList([["a", ["b"]]])).toEqual([["a", ["b"]]]);
  const tooMany = Array(4_001).fill(["a", []]);
  for (const wrong of [{}, "a", [["a"]], [["a", [7]]], [[7, []]], [["a", ["x".repeat(201)]]], tooMany])
    expect(() => hallList(wrong)).toThrow("halls must be");
});

test("references in a large drawer are found in linear time, whatever its text", () => {
  const took = (text: string): number => cpuTimeOf(() => structuralEntities(text));
  for (const unit of ["a.", "a-", "/a.", "aA."]) {
    took(unit.repeat(1_000));
    const small = Math.max(1, took(unit.repeat(10_000 / unit.length)));
    expect(took(unit.repeat(100_000 / unit.length)) / small, unit).toBeLessThan(60);
  }
  expect(structuralEntities(`${"x ".repeat(600)} src/a.ts`)).toBe("src/a.ts");
});
