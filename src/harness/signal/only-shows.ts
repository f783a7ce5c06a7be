/** Which options make a runner of tests list, show or prepare them, or pass without any. Pure. Used by `test-command.ts`, `revert.ts`. */

/** Parts of an option's name: `--collect-only`, `--listTests`, `-list=.`. What stands behind `=` is no part. */
const SHOWING: ReadonlySet<string> = new Set([
  ...[
    "help",
    "version",
    "versions",
    "list",
    "lists",
    "listenvs",
    "show",
    "showconfig",
    "print",
    "describe",
    "explain",
    "tasks",
  ],
  ...[
    "dry",
    "dryrun",
    "just",
    "recon",
    "question",
    "touch",
    "what",
    "where",
    "prereqs",
    "plan",
    "only",
    "co",
    "fixtures",
    "funcargs",
  ],
  ...["init", "clear", "generate", "migrate", "warm", "merge", "devenv", "notest", "notests", "bench", "archive"],
  // Some tests, or none at all, and both are well.
  ...["changed", "related", "stale", "present", "never"],
]);
/** Two parts, one behind the other: `--no-run`, `--passWithNoTests`; the empty one stands before a name: `--markers`, not `--strict-markers`. */
const SHOWING_PAIRS: ReadonlySet<string> = new Set([
  ...[
    "no run",
    "no tests",
    "no test",
    "no files",
    "exit zero",
    "exit code",
    "ignore errors",
    "ignore failures",
    " markers",
  ],
]);
/** Letters that do the same, behind one dash, alone or with others: `make -kn`. */
const LETTERS = new Map<string, string>([
  ...["make", "gmake"].map((name) => [name, "hvnqtpi"] as const),
  ...["npm", "pnpm", "yarn", "bun"].map((name) => [name, "hvV"] as const),
  ...["jest", "vitest", "rspec"].map((name) => [name, "hv"] as const),
  ...["bash", "sh", "zsh"].map((name) => [name, "hnc"] as const),
  // `npx` and what else stands before a program.
  ["", "hvV"],
  ["tox", "hlan"],
  ["nox", "hl"],
  ["rake", "hnADHPTVW"],
]);
/** Whole words that do the same, beside `-h`. */
const WORDS = new Map<string, readonly string[]>([
  ["go", ["-c", "-n", "-exec"]],
  ["dotnet", ["-t"]],
  ["swift", ["-l"]],
  ["node", ["-v", "-c", "-e", "-p", "--check", "--eval"]],
  ["ctest", ["-N", "-S", "-T", "-M", "-D", "--build-and-test"]],
  ...["mvn", "mvnw"].map((name) => [name, ["-v", "-fn"]] as const),
  ...["gradle", "gradlew"].map((name) => [name, ["-v", "-m", "-x", "--exclude-task"]] as const),
  ...["python", "python3"].map((name) => [name, ["-c", "-V"]] as const),
  ...["pytest", "py.test", "mocha", "cargo", "deno", "playwright", "composer"].map((name) => [name, ["-V"]] as const),
]);
/** First words that do the same, where they are no options: of any runner that has no other purpose, and of one. */
const FIRST: ReadonlySet<string> = new Set(["help", "list", "init", "bench", "related"]);
const FIRST_OF = new Map<string, ReadonlySet<string>>([
  ["tox", new Set("config devenv depends exec quickstart schema l c d de e q".split(" "))],
  ["ava", new Set(["debug", "reset-cache"])],
]);
/** Patterns that no test's name has. */
const NO_NAME: ReadonlySet<string> = new Set(["^$", "NONE", "none"]);

/** `name`: the program's, `words`: those behind it. */
export function onlyShows(name: string, words: readonly string[]): boolean {
  const letters = LETTERS.get(name) ?? "";
  const whole = WORDS.get(name) ?? [];
  return words.some(
    (word, at) =>
      isShowing(word) || whole.includes(word) || hasLetter(word, letters) || namesNone(word, words[at + 1] ?? ""),
  );
}

/** A program that only runs tests does something else for its first word. */
export function isOtherWord(name: string, first: string): boolean {
  return FIRST.has(first) || FIRST_OF.get(name)?.has(first) === true;
}

/** Says what it would do, or what it is, whichever the program. */
function isShowing(word: string): boolean {
  if (word === "-h" || word === "-?") return true;
  if (!word.startsWith("-") || word.length < 3) return false;
  if (word.startsWith("-D") || word.startsWith("-P")) return isSkipping(word.toLowerCase());
  const name = word.split("=", 1)[0] ?? "";
  const parts = name
    .replaceAll(/[A-Z]/g, "-$&")
    .toLowerCase()
    .split(/[-_.:]/);
  return parts.some((part, at) => SHOWING.has(part) || SHOWING_PAIRS.has(`${part} ${parts[at + 1] ?? ""}`));
}

/** `-DskipTests`, and other properties of that kind of Maven and Gradle. */
function isSkipping(property: string): boolean {
  return ["skip", "ignore", "failifno"].some((part) => property.includes(part));
}

function hasLetter(word: string, letters: string): boolean {
  return word.startsWith("-") && !word.startsWith("--") && [...letters].some((letter) => word.includes(letter));
}

/** `go test -run '^$'`. */
function namesNone(word: string, next: string): boolean {
  const [option = "", value = next] = word.split("=", 2);
  return (option === "-run" || option === "--run") && NO_NAME.has(value);
}
