/** Trimming examined every run of spaces inside a text in quadratic time, so one valid drawer stopped all writes for a minute. */
import { expect, it } from "vitest";
import { sanitizeQuery } from "../../src/memory/search/query-sanitizer.ts";
import { strip } from "../../src/memory/text/text.ts";
import { cpuTimeOf } from "../helpers/cpu-time.ts";

it.each([
  ["white space inside a text", (n: number) => strip(`x${" ".repeat(n)}x`)],
  ["quotes around a query", (n: number) => sanitizeQuery('"'.repeat(n))],
])("%s is trimmed in linear time", (_name, work) => {
  cpuTimeOf(() => work(1000));
  // Ten times the text: ten times the work if linear, 100 times if quadratic. The limit allows for a busy machine.
  const small = Math.max(
    cpuTimeOf(() => work(20_000)),
    0.5,
  );
  expect(cpuTimeOf(() => work(200_000)) / small).toBeLessThan(50);
});

it("strip removes the same characters as Python, at both ends of a text and nowhere else", () => {
  expect(strip("\u001c\u0085 a  b\u00a0\n")).toBe("a  b");
  expect(strip("\ufeffa")).toBe("\ufeffa");
  expect(strip(" \t ")).toBe("");
});
