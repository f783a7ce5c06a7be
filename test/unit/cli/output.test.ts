/** Tests the output for people: aligned tables, short lines, no character that moves the cursor. */
import { expect, test } from "vitest";
import {
  alignRows,
  formatBytes,
  formatDuration,
  plural,
  printable,
  shorten,
} from "../../../src/cli/terminal/output.ts";

test("a table aligns its columns, with numbers at the right", () => {
  expect(
    alignRows([
      ["a", 5, "x"],
      ["long", 100, "y z"],
    ]),
  ).toEqual(["a       5  x", "long  100  y z"]);
});

test("output shows control and direction characters as visible characters", () => {
  expect(printable("a\u001B[2Jb\u202Ec\nd\te\u0000")).toBe("a\uFFFD[2Jb\uFFFDc d e\uFFFD");
});

test("a shortened line has no line breaks, and is never cut inside an emoji", () => {
  expect(shorten("  one\n two  ", 20)).toBe("one two");
  expect(shorten("😀😀😀", 2)).toBe("😀…");
});

test("sizes, durations and counts have readable units", () => {
  expect([formatBytes(0), formatBytes(1023), formatBytes(1536), formatBytes(5 * 1024 ** 3)]).toEqual([
    "0 bytes",
    "1023 bytes",
    "1.5 KiB",
    "5.0 GiB",
  ]);
  const times = [12.4, 1_500, 90_000, 120_000, 7_200_000, 7_500_000];
  expect(times.map(formatDuration)).toEqual(["12 ms", "2 s", "1 min 30 s", "2 min", "2 h", "2 h 5 min"]);
  expect([plural(1, "drawer"), plural(0, "drawer")]).toEqual(["1 drawer", "0 drawers"]);
});
