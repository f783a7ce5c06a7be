import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pages } from "../../scripts/docs.ts";
import { variableNames, VARIABLES } from "../../src/config/env.ts";
import { SETTING_KEYS, SETTINGS, variableOf } from "../../src/config/settings-table.ts";
import { ROOT, sourceFiles } from "./source-files.ts";

const VARIABLES_MAX = 45;
const names: string[] = variableNames();
/** Variables with their own line in the table of docs/reference/settings.md. That page lists older spellings in one sentence. */
const documented = Object.entries(VARIABLES)
  .filter(([, { group }]) => group !== "spelling")
  .map(([name]) => name);
/** Entry points, which pass the whole environment to the configuration. */
const MAY_SEE_ENV = ["src/bin/", "src/cli/", "src/agents/pi/palace.ts", "src/agents/opencode/palace.ts"];

test("docs/reference/settings.md is what scripts/docs.ts writes, so every key and variable is in it", () => {
  const page = readFileSync(join(ROOT, "docs/reference/settings.md"), "utf8");
  expect(page, "run: node scripts/docs.ts").toBe(pages()["docs/reference/settings.md"]);
  expect([...SETTING_KEYS, ...documented].filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
  expect(Object.keys(VARIABLES).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test(`at most ${VARIABLES_MAX} environment variables are documented, and each key and variable has a meaning`, () => {
  expect(documented.length).toBeLessThanOrEqual(VARIABLES_MAX);
  expect(documented.filter((name) => SETTING_KEYS.some((key) => variableOf(key) === name))).toEqual([]);
  const rows = [...Object.entries(SETTINGS), ...Object.entries(VARIABLES)];
  expect(rows.filter(([, { meaning }]) => meaning.length < 10).map(([name]) => name)).toEqual([]);
});

test("only the entry points of src read the environment", () => {
  const files = sourceFiles("src");
  expect(files.length).toBeGreaterThan(60);
  const readers = files
    .filter(({ path }) => !MAY_SEE_ENV.some((folder) => path.startsWith(folder)))
    .filter(({ text }) => /process\.env\b|\benv\b[^"]*from "node:process"/.test(withoutComments(text)));
  expect(readers.map(({ path }) => path)).toEqual([]);
});

test("no executable and no command picks a single variable from process.env", () => {
  const picking = [...sourceFiles("src/bin"), ...sourceFiles("src/cli")].filter(({ text }) =>
    /process\.env\s*(\.|\[)/.test(withoutComments(text)),
  );
  expect(picking.map(({ path }) => path)).toEqual([]);
});

test("each of our variables in code, scripts, compose files or images is in the table of variables", () => {
  const files = [...sourceFiles("src"), ...sourceFiles("scripts"), ...rootFiles()];
  const used = new Set(files.flatMap(({ text }) => text.match(/\b(MEMPALACE|MEMPAL)_[A-Z][A-Z_]+[A-Z]\b/g) ?? []));
  expect(used.size).toBeGreaterThan(10);
  expect([...used].filter((name) => !names.includes(name))).toEqual([]);
});

test("the code reads every variable in the table of variables", () => {
  const code = sourceFiles("src/config")
    .filter(({ path }) => !["src/config/env.ts", "src/config/settings-table.ts"].includes(path))
    .map(({ text }) => text)
    .join("\n");
  const keys = new Map<string, string>(SETTING_KEYS.map((key) => [variableOf(key), key]));
  const isRead = (name: string): boolean => [name, keys.get(name)].some((one) => code.includes(`"${one}"`));
  expect(names.filter((name) => !isRead(name))).toEqual([]);
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
