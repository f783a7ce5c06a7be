/** The environment is read in one place, and what is read there is documented. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pages } from "../../scripts/docs.ts";
import { VARIABLES } from "../../src/config/env.ts";
import { ROOT, sourceFiles } from "./source-files.ts";

const names = Object.keys(VARIABLES);
/** Entry points hand the whole environment to the configuration. */
const MAY_SEE_ENV = ["src/bin/", "src/harness/pi/palace.ts", "src/harness/opencode/palace.ts"];

test("docs/reference/settings.md is what scripts/docs.ts writes, so every variable is in it", () => {
  const page = readFileSync(join(ROOT, "docs/reference/settings.md"), "utf8");
  expect(page, "run: node scripts/docs.ts").toBe(pages()["docs/reference/settings.md"]);
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
});

test("nothing in src but the entry points touches the environment", () => {
  const files = sourceFiles("src");
  expect(files.length).toBeGreaterThan(60);
  const readers = files
    .filter(({ path }) => !MAY_SEE_ENV.some((folder) => path.startsWith(folder)))
    .filter(({ text }) => /process\.env\b|\benv\b[^"]*from "node:process"/.test(withoutComments(text)));
  expect(readers.map(({ path }) => path)).toEqual([]);
});

test("an entry point passes the environment on and picks nothing from it", () => {
  const picking = sourceFiles("src/bin").filter(({ text }) => /process\.env\s*(\.|\[)/.test(withoutComments(text)));
  expect(picking.map(({ path }) => path)).toEqual([]);
});

test("every variable of ours that code, scripts, compose or image name is in the table", () => {
  const files = [...sourceFiles("src"), ...sourceFiles("scripts"), ...rootFiles()];
  const used = new Set(files.flatMap(({ text }) => text.match(/\b(MEMPALACE|MEMPAL)_[A-Z][A-Z_]+[A-Z]\b/g) ?? []));
  expect(used.size).toBeGreaterThan(10);
  expect([...used].filter((name) => !names.includes(name))).toEqual([]);
});

test("every variable in the table is read somewhere", () => {
  const code = sourceFiles("src/config")
    .filter(({ path }) => path !== "src/config/env.ts")
    .map(({ text }) => text)
    .join("\n");
  expect(names.filter((name) => !code.includes(`"${name}"`))).toEqual([]);
});

function rootFiles(): { path: string; text: string }[] {
  return ["docker-compose.yml", "Dockerfile.base"].map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), "utf8"),
  }));
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
}
