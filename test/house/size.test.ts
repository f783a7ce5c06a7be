import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, sourceFiles } from "./source-files.ts";

const LINES_MAX = 400;
const files = ["src", "scripts", "test"].flatMap((folder) => sourceFiles(folder));

test("no file has more than 400 lines", () => {
  expect(files.length).toBeGreaterThan(100);
  const long = files.filter(({ text }) => text.split("\n").length - 1 > LINES_MAX);
  expect(long.map(({ path }) => path)).toEqual([]);
});

test("every file in src and scripts begins with a comment that says what it is", () => {
  const silent = files
    .filter(({ path }) => !path.startsWith("test/"))
    .filter(({ text }) => !text.replace(/^#!.*\n/, "").startsWith("/**"));
  expect(silent.map(({ path }) => path)).toEqual([]);
});

test("every folder of src has a README with at most 70 lines of text", () => {
  const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const pages = folders.map(({ name }) => join("src", name, "README.md"));
  expect(pages.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const prose = (path: string): string => readFileSync(join(ROOT, path), "utf8").replaceAll(/```[\s\S]*?```/g, "");
  const long = pages.filter((path) => prose(path).split("\n").length > 70);
  expect(long).toEqual([]);
});

test("every file that a README of src names exists", () => {
  const missing = sourceFiles("src", "README.md").flatMap(({ path, text }) => {
    const folder = path.slice(0, -"README.md".length);
    const named = [...text.matchAll(/`((?:[a-z0-9-]+\/)*[a-z0-9-]+\.ts)`/g)].map(([, name = ""]) => name);
    return named
      .filter((name) => ![folder, "src", "."].some((base) => existsSync(join(ROOT, base, name))))
      .map((name) => `${path}: ${name}`);
  });
  expect(missing).toEqual([]);
});
