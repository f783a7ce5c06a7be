/** Tests the header in which a client names its project. An unreadable header does not fail the call. */
import { expect, test } from "vitest";
import { namesInLine, projectLine } from "../../../src/protocol/project-header.ts";

test.each([
  [["my_shop", "docs"], "my_shop,docs"],
  [["Old Yard", "größe", "a,b"], "Old%20Yard,gr%C3%B6%C3%9Fe,a%2Cb"],
  [[], ""],
])("the project header writes the names %j as %s and reads them back", (names, line) => {
  expect(projectLine(names)).toBe(line);
  expect(namesInLine(line)).toEqual(names);
});

test("the project header drops names that are too long or odd, and names beyond the maximum number", () => {
  expect(namesInLine(projectLine(Array.from({ length: 20 }, (_, at) => `n${at}`)))).toHaveLength(8);
  expect(namesInLine(projectLine(["x".repeat(129), "", "\uD800", "ok"]))).toEqual(["ok"]);
  const long = Array.from({ length: 8 }, () => "語".repeat(128));
  expect(projectLine(long).length).toBeLessThanOrEqual(4_096);
  expect(namesInLine(projectLine(long))).toEqual(long.slice(0, 3));
});

test.each([[undefined, ["a"], "x".repeat(5_000), "%", "%00", ",,", "%E0%A4%A"]].flat())(
  "the project header %j names no project",
  (line) => {
    expect(namesInLine(line === "a" ? ["a"] : line)).toEqual([]);
  },
);

test("project names in the setting may have spaces and capitals, and a comma separates them", () => {
  expect(namesInLine("My Shop, my-shop")).toEqual(["My Shop", "my-shop"]);
});
