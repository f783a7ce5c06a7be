/** Checks each wing (top folder of src): its number of lines, and its face, the files that other wings may import. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importsOf, resolveImport, ROOT, sourceFiles } from "./source-files.ts";
import { FACES, LINES_MAX } from "./wings.ts";

const files = sourceFiles("src");
const wingOf = (path: string): string => path.split("/")[1] ?? "";

test.each(Object.entries(LINES_MAX))("the wing %s has at most %d lines", (wing, max) => {
  const lines = files
    .filter(({ path }) => wingOf(path) === wing)
    .reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);
  expect(lines).toBeGreaterThan(100);
  expect(lines).toBeLessThanOrEqual(max);
});

test("other wings import only the files of a wing's face, and each of these files is imported", () => {
  const entered = new Map<string, string>();
  for (const file of files)
    for (const { specifier } of importsOf(file)) {
      const target = resolveImport(file.path, specifier);
      if (target !== undefined && wingOf(target) !== wingOf(file.path) && Object.hasOwn(FACES, wingOf(target)))
        entered.set(target.slice("src/".length), file.path);
    }
  const open = new Set(Object.entries(FACES).flatMap(([wing, names]) => names.map((name) => `${wing}/${name}.ts`)));
  expect([...entered].filter(([target]) => !open.has(target)).map((pair) => pair.reverse().join(" → "))).toEqual([]);
  expect([...open].filter((name) => !entered.has(name))).toEqual([]);
});

test("the table of wings in src/README.md has the same limits as wings.ts", () => {
  const page = readFileSync(join(ROOT, "src/README.md"), "utf8");
  const rows = [...page.matchAll(/^\| \d+ +\| `([a-z]+)` +\|.*\| ([\d,]+) +\| [\d,]+ +\|$/gm)];
  const bounds = rows.map(([, wing = "", max = ""]) => [wing, Number(max.replaceAll(",", ""))]);
  expect(Object.fromEntries(bounds)).toEqual(LINES_MAX);
});
