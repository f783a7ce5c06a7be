/** Which commands run tests. Pure. Used by `command.ts`. */

/** Words that stand before a command, and the options of theirs that take a word. */
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
/** Programs whose second word says the same: `uv run pytest`. */
const RUNNERS: ReadonlySet<string> = new Set([
  ...["npm exec", "npm x", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx", "bun x", "bun run"],
  ...["uv run", "poetry run", "pipenv run", "pdm run", "rye run", "hatch run", "bundle exec"],
]);
const PACKAGE_MANAGERS: ReadonlySet<string> = new Set(["npm", "pnpm", "yarn", "bun"]);
/** Options of theirs that take a word. */
const WITH_WORD: ReadonlySet<string> = new Set([
  ...["--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter", "-F", "workspace"],
]);
/** Every run of these is one of tests. */
const ALWAYS: ReadonlySet<string> = new Set([
  ...["vitest", "jest", "mocha", "ava", "pytest", "py.test", "nose2", "ctest", "rspec", "phpunit", "tox", "nox"],
]);
/** Programs that run tests when this is the first word that is no option. */
const SUBCOMMANDS = new Map<string, readonly string[]>([
  ...(
    ["cargo", "deno", "go", "dotnet", "mix", "swift", "flutter", "dart", "composer", "rails", "playwright"] as const
  ).map((name) => [name, ["test"]] as const),
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
const GOAL_OPTIONS: ReadonlySet<string> = new Set(["-C", "-f", "-j", "-x", "-p", "--directory", "--file"]);
/** Modules that Python runs tests with. */
const PYTHON_MODULES: ReadonlySet<string> = new Set(["pytest", "unittest", "nose2"]);
/** Tests are listed, built, left out, or not even that. */
const NOT_RUN: ReadonlySet<string> = new Set([
  ...["--help", "-h", "--version", "--list", "-list", "--listTests", "--collect-only", "--co", "--no-run", "--dry-run"],
  ...["--show-only", "-N"],
]);
const SCRIPT_NAMES: ReadonlySet<string> = new Set(["test", "tests", "run-tests", "run_tests", "runtests"]);
const SCRIPT_RUNNERS: ReadonlySet<string> = new Set(["bash", "sh", "zsh", "node", "python", "python3", "bun"]);

/** `words`: of one simple command. */
export function runsTests(words: readonly string[]): boolean {
  const [program = "", ...rest] = programOf(words);
  if (rest.some((word) => NOT_RUN.has(word) || isSkipped(word))) return false;
  const name = nameOf(program);
  const first = rest.find((word) => !/^[-+]/.test(word)) ?? "";
  if (ALWAYS.has(name)) return !["list", "init", "bench"].includes(first);
  if (PACKAGE_MANAGERS.has(name)) return isTestScript(name, rest);
  if (SUBCOMMANDS.get(name)?.includes(first) === true) return true;
  if (name === "deno" && first === "task") return rest.some(isTestName);
  if (isGoal(name, rest)) return true;
  if (name.startsWith("python") && isPythonTest(rest)) return true;
  return isScript(SCRIPT_RUNNERS.has(name) ? first : program);
}

/** `-DskipTests`, and Maven's other properties of that kind. */
function isSkipped(word: string): boolean {
  return word.startsWith("-D") && word.toLowerCase().includes("skip");
}

/** A command without what stands before it: assignments, `timeout 60`, `npx`, `uv run`. */
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

/** `more`: words that belong to the prefix beside its options. */
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
  return isTestName(first) || ALWAYS.has(first);
}

function isTestName(script: string): boolean {
  return script === "test" || script.startsWith("test:") || script.startsWith("test-");
}

function isPythonTest(words: readonly string[]): boolean {
  const module = words.indexOf("-m");
  if (module !== -1) return PYTHON_MODULES.has(words[module + 1] ?? "");
  return nameOf(words[0] ?? "") === "manage.py" && words[1] === "test";
}

/** `make -j 4 check`, `gradle :app:test`, not `gradle build -x test`. */
function isGoal(name: string, words: readonly string[]): boolean {
  const goals = GOALS.get(name) ?? [];
  return words.some(
    (word, at) =>
      !GOAL_OPTIONS.has(words[at - 1] ?? "") && goals.some((goal) => word === goal || word.endsWith(`:${goal}`)),
  );
}

/** `./scripts/test`, `bin/run_tests.sh`; `test` without a folder is the shell's own. */
function isScript(path = ""): boolean {
  const name = nameOf(path);
  const end = name.indexOf(".");
  const isFile = !path.includes(" ") && (path.includes("/") || end !== -1);
  return isFile && SCRIPT_NAMES.has(end === -1 ? name : name.slice(0, end));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
