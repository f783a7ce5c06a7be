import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, type SourceFile, sourceFiles } from "./source-files.ts";

const SELF = "test/house/no-leftovers.test.ts";
const code = ["src", "scripts", "test"].flatMap((folder) => sourceFiles(folder)).filter(({ path }) => path !== SELF);
const pages = ["src", "docs"].flatMap((folder) => sourceFiles(folder, ".md"));
const root = ["docker-compose.yml", "Dockerfile.base", "package.json", "oxlint.config.ts", "vitest.config.ts"].map(
  (path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }),
);

/** Returns `file:line` and text of every line that matches. */
function findings(files: readonly SourceFile[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])),
  );
}

test("no file has a TODO or FIXME", () => {
  expect(code.length).toBeGreaterThan(100);
  expect(findings([...code, ...pages, ...root], /\b(TODO|FIXME|XXX|HACK)\b/)).toEqual([]);
});

test("no test is focused with .only", () => {
  expect(findings(code, /\b(test|it|describe|suite)(\.\w+)*\.only\b/)).toEqual([]);
});

test("no test is skipped unconditionally or marked as todo or failing", () => {
  expect(findings(code, /\b(test|it|describe|suite)(\.\w+)*\.(skip|todo|fails)\b/)).toEqual([]);
  expect(findings(code, /\.skipIf\(\s*(true|1)\s*\)|\.runIf\(\s*(false|0)\s*\)/)).toEqual([]);
});

test("src has no debugger statement and never blocks a thread with Atomics.wait", () => {
  expect(findings(sourceFiles("src"), /\bdebugger\b|Atomics\.wait\(/)).toEqual([]);
});

test("every sync to the disk uses base/folders.ts, where a test can simulate a power cut", () => {
  const others = sourceFiles("src").filter(({ path }) => path !== "src/base/folders.ts");
  expect(findings(others, /\bf(?:data)?sync(?:Sync)?\(|\b(?:handle|file|folder)\.(?:data)?sync\(/i)).toEqual([]);
});

test("no file names a folder of its author's machine, or a package registry", () => {
  // Images and compose files may name paths inside a container, and /home/developer is such a path.
  const machine = /[\s"'`(=:]\/(work|root|home\/(?!developer\b)\w+|tmp\/\w+)\//;
  const registry = /registry\.(npmjs|yarnpkg)\.(org|com)/;
  const ours = [...sourceFiles("src"), ...sourceFiles("scripts"), ...pages];
  expect(findings(ours, machine)).toEqual([]);
  expect(findings([...code, ...pages, ...root], registry)).toEqual([]);
});
