import { expect, test } from "vitest";
import { formatLine } from "../../../src/cli/verbs/logs.ts";

test("logs shows the time, level, event and fields of a log line", () => {
  const line = JSON.stringify({
    atMs: 0,
    level: "info",
    event: "palace open",
    drawers: 3,
    why: "two words",
    door: "unix",
  });
  expect(formatLine(line)).toBe('1970-01-01 00:00:00.000 INFO  palace open drawers=3 why="two words" door=unix');
});

test("logs shows a line in another format unchanged", () => {
  for (const line of ["plain text", '{"a":1}', "[1]", '{"atMs":"x"}']) expect(formatLine(line)).toBe(line);
});

test("a log line cannot move the cursor", () => {
  expect(formatLine("a\u001B[2J")).toBe("a\uFFFD[2J");
});
