import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pages } from "../../scripts/docs.ts";
import { ERROR_CODES, EXIT_CODES, isErrorCode } from "../../src/base/errors.ts";
import { ROOT, sourceFiles } from "./source-files.ts";

const codes = Object.keys(ERROR_CODES);

test("docs/reference/tools.md is what scripts/docs.ts writes, so every tool is in it", () => {
  const page = readFileSync(join(ROOT, "docs/reference/tools.md"), "utf8");
  expect(page, "run: node scripts/docs.ts").toBe(pages()["docs/reference/tools.md"]);
});

test("docs/reference/errors.md is what scripts/docs.ts writes, so every error code is in it", () => {
  const page = readFileSync(join(ROOT, "docs/reference/errors.md"), "utf8");
  expect(page, "run: node scripts/docs.ts").toBe(pages()["docs/reference/errors.md"]);
  expect(codes.filter((code) => !page.includes(`| \`${code}\` |`))).toEqual([]);
});

test("every error code belongs to a family with an exit code", () => {
  const families = Object.keys(EXIT_CODES);
  expect(codes.filter((code) => !families.some((family) => code.startsWith(`${family}_`)))).toEqual([]);
});

test("every error code that src writes as text is in the table of error codes", () => {
  const families = Object.keys(EXIT_CODES).join("|");
  const spelled = sourceFiles("src").flatMap(
    ({ text }) => text.match(new RegExp(`"(${families})_[A-Z_]+"`, "g")) ?? [],
  );
  expect(spelled.length).toBeGreaterThan(30);
  expect(spelled.map((quoted) => quoted.slice(1, -1)).filter((code) => !isErrorCode(code))).toEqual([]);
});
