/**
 * Checks "One write" in src/README.md, the list of files that a write passes. A step "climbs" if its file is in a higher wing of that
 * page's picture than the file of the step before.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importsOf, resolveImport, ROOT } from "./source-files.ts";

const OUTSIDE_MAX = 8;
const CLIMBS_MAX = 2;

const page = readFileSync(join(ROOT, "src/README.md"), "utf8");
const section = page.split(/^### /m).find((one) => one.startsWith("One write\n")) ?? "";
const steps = [...section.matchAll(/^\| (?:([→⇢≈]) )?`([\w/-]+\.ts)`/gm)].map(([, arrow = "", file = ""]) => ({
  arrow,
  file,
}));
const pairs = steps.slice(1).map((step, index) => ({ ...step, from: steps[index]?.file ?? "" }));

/** Returns the number that the picture in src/README.md gives a file's wing. Higher wings import lower ones. */
function floorOf(file: string): number {
  const wing = file.split("/")[0] ?? "";
  const line = page.match(new RegExp(`^(\\d+) +(?:[a-z]+ )*${wing} `, "m"));
  return Number(line?.[1] ?? Number.NaN);
}

test("the list `One write` of src/README.md goes from the shim to the ledger's tables, and each of its files exists", () => {
  expect(steps[0]?.file).toBe("wire/shim.ts");
  expect(steps.at(-1)?.file).toBe("memory/ledger/tables/tables.ts");
  expect(steps.filter(({ file }) => !existsSync(join(ROOT, "src", file)))).toEqual([]);
});

test("the list `One write` of src/README.md has at most eight files outside the ledger, and climbs to a higher wing at most twice", () => {
  const outside = steps.filter(({ file }) => !file.startsWith("memory/ledger/"));
  expect(new Set(outside.map(({ file }) => file)).size).toBeLessThanOrEqual(OUTSIDE_MAX);
  expect(pairs.every(({ file, from }) => floorOf(file) > 0 && floorOf(from) > 0)).toBe(true);
  expect(pairs.filter(({ file, from }) => floorOf(file) > floorOf(from)).length).toBeLessThanOrEqual(CLIMBS_MAX);
});

test("in the list `One write` of src/README.md, the file of a step marked with → is imported by the file of the step before", () => {
  const direct = pairs.filter(({ arrow }) => arrow === "→");
  expect(direct.length).toBeGreaterThan(2);
  const missing = direct.filter(({ file, from }) => {
    const path = join("src", from);
    const imports = importsOf({ path, text: readFileSync(join(ROOT, path), "utf8") });
    return !imports.some(
      ({ specifier, typesOnly }) => !typesOnly && resolveImport(path, specifier) === join("src", file),
    );
  });
  expect(missing).toEqual([]);
});
