import { matchesGlob } from "node:path";
import { expect, test } from "vitest";
import { run } from "../../scripts/test.ts";
import config from "../../vitest.config.ts";
import { ROOT, sourceFiles } from "./source-files.ts";

const PROJECTS_MAX = 7;
type Project = { test: { name: string; include: string[] } };
const projects = (config as { test: { projects: Project[] } }).test.projects.map((project) => project.test);

test("there are at most seven vitest projects, and the help of scripts/test lists each", async () => {
  expect(projects.length).toBeLessThanOrEqual(PROJECTS_MAX);
  const said: string[] = [];
  const { signal } = new AbortController();
  await run({ argv: ["--help"], env: {}, cwd: ROOT, print: (line) => said.push(line), log: () => {}, signal });
  const [, suites = ""] = /SUITE\s+(.*); none/u.exec(said.join("\n")) ?? [];
  expect(suites.split(", ").toSorted()).toEqual(["build", "check", ...projects.map(({ name }) => name)].toSorted());
});

test("each test file is in exactly one vitest project", () => {
  const files = sourceFiles("test").filter(({ path }) => path.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(100);
  const isIn = (path: string, { include }: { include: string[] }): boolean =>
    include.some((glob) => matchesGlob(path, glob));
  const wrong = files.filter(({ path }) => projects.filter((project) => isIn(path, project)).length !== 1);
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test("no test compares elapsed time with a constant, because a loaded machine would fail it", () => {
  const elapsed =
    /expect\([^;]*?(?:performance|Date)\.now\(\) - [^;]*?\.toBe(?:Less|Greater)Than(?:OrEqual)?\((?:[\d_]+|[A-Z_]+_MS)\)/u;
  const isElapsed = (code: string): boolean => elapsed.test(code.replaceAll(/Math\.abs\(/gu, ""));
  expect(isElapsed("expect(performance.now() - startedAt, why).toBeLessThan(AT_ONCE_MS)")).toBe(true);
  const files = sourceFiles("test").filter(({ path }) => path.endsWith(".test.ts") && !path.includes("house"));
  expect(files.filter(({ text }) => isElapsed(text)).map(({ path }) => path)).toEqual([]);
});
