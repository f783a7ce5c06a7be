/** Recognises commands that run tests. Pure. Used by `command.ts`. */
import { isOtherWord, onlyShows } from "./only-shows.ts";

/** Words that may come before a command, with their options that take a word. */
const PREFIXES: Readonly<Record<string, readonly string[]>> = {
  env: ["-u", "-C"],
  time: [],
  nice: ["-n"],
  timeout: ["-k", "-s", "--kill-after", "--signal"],
  exec: [],
  npx: ["-p", "--package"],
  bunx: [],
  pnpx: [],
};
/** Programs that do the same with their second word: `uv run pytest`. */
const RUNNERS: ReadonlySet<string> = new Set([
  ...["npm exec", "npm x", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx", "bun x", "bun run"],
  ...["uv run", "poetry run", "pipenv run", "pdm run", "rye run", "hatch run", "bundle exec"],
]);
const PACKAGE_MANAGERS: ReadonlySet<string> = new Set(["npm", "pnpm", "yarn", "bun"]);
/** Options of theirs that take a word. */
const WITH_WORD: ReadonlySet<string> = new Set([
  ...["--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter", "-F", "workspace"],
]);
/** Programs that run tests whatever their arguments. */
const ALWAYS: ReadonlySet<string> = new Set([
  ...["vitest", "jest", "mocha", "ava", "pytest", "py.test", "nose2", "ctest", "rspec", "phpunit", "tox", "nox"],
]);
/** Programs that run tests when their first word other than an option is one of these. */
const SUBCOMMANDS = new Map<string, readonly string[]>([
  ...(["deno", "go", "dotnet", "mix", "swift", "flutter", "dart", "composer", "rails", "playwright"] as const).map(
    (name) => [name, ["test"]] as const,
  ),
  ["cargo", ["test", "nextest"]],
  ["rake", ["test", "spec"]],
]);
/** Programs that run tests when one of these is among their words. */
const GOALS = new Map<string, readonly string[]>([
  ["node", ["--test"]],
  ...(["make", "gmake"] as const).map((name) => [name, ["test", "tests", "check"]] as const),
  ...(["mvn", "mvnw"] as const).map((name) => [name, ["test", "verify"]] as const),
  ...(["gradle", "gradlew"] as const).map((name) => [name, ["test", "check"]] as const),
]);
/** Options of theirs that take a word: a folder, a file, a number, a task that is left out. */
const GOAL_OPTIONS: ReadonlySet<string> = new Set([
  "-C",
  "-f",
  "-j",
  "-x",
  "-p",
  "--directory",
  "--file",
  "-W",
  "-o",
  "-I",
  "-l",
  "--task",
]);
/** Modules that Python runs tests with. */
const PYTHON_MODULES: ReadonlySet<string> = new Set(["pytest", "unittest", "nose2"]);
/** Exit codes that do not mean a failed test: no test was found, the call was wrong, or something else broke. */
const NO_TEST_CODES = new Map<string, readonly number[]>([
  ...["pytest", "py.test", "python", "python3"].map((name) => [name, [2, 3, 4, 5]] as const),
  ...["npm", "tox"].map((name) => [name, [254, 255]] as const),
  ["cargo", [4, 104]],
  ["go", [2]],
  ["node", [9]],
]);
/** Parts of a script's name that say that it runs no tests: `test:setup`. */
const NO_TEST_PARTS: ReadonlySet<string> = new Set([
  ..."setup install prepare build compile clean types typecheck lint format watch serve server list init".split(" "),
  ..."report deps seed db reset up down start stop debug ui help".split(" "),
]);
/** A program named `test` is a script of tests only in such a folder: elsewhere it may be anything. */
const SCRIPT_FOLDERS: ReadonlySet<string> = new Set(["script", "scripts", "bin", "tools", "ci", "dev", "hack"]);
/** Options of Node and Python that take a word. */
const INTERPRETER_OPTIONS: ReadonlySet<string> = new Set([
  ...["-W", "-X", "-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file"],
]);
const SCRIPT_NAMES: ReadonlySet<string> = new Set(["test", "tests", "run-tests", "run_tests", "runtests"]);
const SCRIPT_RUNNERS: ReadonlySet<string> = new Set(["bash", "sh", "zsh", "node", "python", "python3", "bun"]);

/** `words`: of one simple command. */
export function runsTests(words: readonly string[]): boolean {
  return isTestsOwn(words) && !isShown(words);
}

/** Returns true if the command runs no test that could pass or fail. */
function isShown(words: readonly string[]): boolean {
  const [program = "", ...rest] = programOf(words);
  const before = words.slice(0, words.length - rest.length);
  const name = nameOf(program);
  const first = rest.find((word) => !/^[-+]/.test(word)) ?? "";
  if (ALWAYS.has(name) && isOtherWord(name, first)) return true;
  return onlyShows(name, rest) || onlyShows("", before);
}

/** Returns true for a command of a test runner, whatever it does with the tests. */
export function isTestsOwn(words: readonly string[]): boolean {
  const [program = "", ...rest] = programOf(words);
  const name = nameOf(program);
  const [first = "", second = ""] = rest.filter((word) => !/^[-+]/.test(word));
  if (ALWAYS.has(name)) return (name !== "tox" && name !== "nox") || isTestEnvironment(rest);
  if (PACKAGE_MANAGERS.has(name)) return isTestScript(name, rest);
  if (first === "nextest") return name === "cargo" && second === "run";
  if (SUBCOMMANDS.get(name)?.includes(first) === true) return !(name === "swift" && second === "list");
  if (name === "deno" && first === "task") return isTestName(second);
  if (isGoal(name, rest)) return !rest.some((word) => ["help", "tasks", "properties"].includes(word));
  if (name.startsWith("python") && isPythonTest(rest)) return true;
  return isScript(SCRIPT_RUNNERS.has(name) ? first : program);
}

/** Returns true for an exit code of the command that does not mean a failed test. */
export function meansNoTest(words: readonly string[], exit: number): boolean {
  return NO_TEST_CODES.get(nameOf(programOf(words)[0] ?? ""))?.includes(exit) === true;
}

/** `tox -e py312`, `nox -s tests`, not `tox -e lint`. */
function isTestEnvironment(words: readonly string[]): boolean {
  const at = words.findIndex((word) => ["-e", "-s", "--session", "--sessions"].includes(word));
  const name = words[at + 1] ?? "";
  return at === -1 || name.startsWith("py") || name.includes("test") || name.includes("unit");
}

/** Returns a command without its prefixes: assignments, `timeout 60`, `npx`, `uv run`. */
export function programOf(words: readonly string[]): readonly string[] {
  for (let rest = words; ;) {
    const [first = "", second = ""] = rest;
    const name = nameOf(first);
    const options = Object.hasOwn(PREFIXES, name) ? PREFIXES[name] : undefined;
    if (isAssignment(first)) rest = rest.slice(1);
    else if (options !== undefined) rest = afterOptions(rest.slice(1), options, name === "timeout" ? 1 : 0);
    else if (RUNNERS.has(`${name} ${second}`) && !isTestName(rest[2] ?? "")) rest = afterOptions(rest.slice(2), [], 0);
    else return rest;
  }
}

/** Removes a prefix's options. `more`: number of further words that belong to the prefix. */
function afterOptions(words: readonly string[], withWord: readonly string[], more: number): readonly string[] {
  let at = 0;
  while (at < words.length && words[at]?.startsWith("-") === true) at += withWord.includes(words[at] ?? "") ? 2 : 1;
  return words.slice(at + more);
}

function isAssignment(word: string): boolean {
  const end = word.indexOf("=");
  return end > 0 && /^[A-Za-z_]\w*$/.test(word.slice(0, end));
}

/** `npm test`, `pnpm -r run test:unit`, `yarn workspace x test`, `yarn vitest`. */
function isTestScript(manager: string, words: readonly string[]): boolean {
  const said = words.filter((word, at) => !word.startsWith("-") && !WITH_WORD.has(words[at - 1] ?? ""));
  const [first = "", second = ""] = said.filter((word) => !WITH_WORD.has(word));
  if (first === "run" || first === "run-script") return isTestName(second);
  if (manager === "npm") return ["test", "t", "tst"].includes(first);
  return isTestName(first) || (ALWAYS.has(first) && !isOtherWord(first, second));
}

function isTestName(script: string): boolean {
  const isNamed = script === "test" || script.startsWith("test:") || script.startsWith("test-");
  return isNamed && !script.split(/[:-]/).some((part) => NO_TEST_PARTS.has(part));
}

function isPythonTest(words: readonly string[]): boolean {
  const module = words.indexOf("-m");
  if (module !== -1 && isBeforeProgram(words, module)) return PYTHON_MODULES.has(words[module + 1] ?? "");
  return nameOf(words[0] ?? "") === "manage.py" && words[1] === "test";
}

/** Returns true for a word before the program's name. After that name, options belong to the program. */
function isBeforeProgram(words: readonly string[], at: number): boolean {
  return words
    .slice(0, at)
    .every((word, index) => word.startsWith("-") || INTERPRETER_OPTIONS.has(words[index - 1] ?? ""));
}

/** `make -j 4 check`, `gradle :app:test`, not `gradle build -x test`. */
function isGoal(name: string, words: readonly string[]): boolean {
  const goals = GOALS.get(name) ?? [];
  if (name === "node") return isBeforeProgram(words, Math.max(words.indexOf("--test"), 0)) && words.includes("--test");
  return words.some(
    (word, at) =>
      !GOAL_OPTIONS.has(words[at - 1] ?? "") && goals.some((goal) => word === goal || word.endsWith(`:${goal}`)),
  );
}

/** `./scripts/test`, `bin/run_tests.sh`; `/usr/bin/test` is the shell's own, and `./test` or `test.py` somebody's program. */
function isScript(path = ""): boolean {
  const name = nameOf(path);
  const end = name.indexOf(".");
  const isFile = !path.includes(" ") && (path.includes("/") || end !== -1);
  const stem = end === -1 ? name : name.slice(0, end);
  if (!isFile || !SCRIPT_NAMES.has(stem)) return false;
  if (stem !== "test" || name.endsWith(".sh")) return true;
  const folder = path.split("/").at(-2) ?? "";
  return SCRIPT_FOLDERS.has(folder) && !(folder === "bin" && path.startsWith("/"));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
