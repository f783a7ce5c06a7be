/**
 * Decides which options make a test runner list, show or prepare tests, or pass without running any. Pure. Used by `test-command.ts`,
 * `revert.ts`.
 */

/** Parts of an option's name: `--collect-only`, `--listTests`, `-list=.`. Text after `=` does not count. */
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
  // These run some tests or none, and pass in both cases.
  ...["changed", "related", "stale", "present", "never"],
]);
/**
 * Pairs of adjacent parts: `--no-run`, `--passWithNoTests`. An empty first part is the start of the name: `--markers` matches,
 * `--strict-markers` does not.
 */
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
/** Letters with the same effect, after one dash, alone or with others: `make -kn`. */
const LETTERS = new Map<string, string>([
  ...["make", "gmake"].map((name) => [name, "hvnqtpi"] as const),
  ...["npm", "pnpm", "yarn", "bun"].map((name) => [name, "hvV"] as const),
  ...["jest", "vitest", "rspec"].map((name) => [name, "hv"] as const),
  ...["bash", "sh", "zsh"].map((name) => [name, "hnc"] as const),
  // `npx` and other prefixes of a program.
  ["", "hvV"],
  ["tox", "hlan"],
  ["nox", "hl"],
  ["rake", "hnADHPTVW"],
]);
/** Whole words with the same effect, beside `-h`. */
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
/** First words, other than options, with the same effect: for any runner that has no other purpose, and for one program. */
const FIRST: ReadonlySet<string> = new Set(["help", "list", "init", "bench", "related"]);
const FIRST_OF = new Map<string, ReadonlySet<string>>([
  ["tox", new Set("config devenv depends exec quickstart schema l c d de e q".split(" "))],
  ["ava", new Set(["debug", "reset-cache"])],
]);
/** Patterns that match no test's name. */
const NO_NAME: ReadonlySet<string> = new Set(["^$", "NONE", "none"]);

/** Returns true if the command lists or shows tests instead of running them. `name`: the program; `words`: its arguments. */
export function onlyShows(name: string, words: readonly string[]): boolean {
  const letters = LETTERS.get(name) ?? "";
  const whole = WORDS.get(name) ?? [];
  return words.some(
    (word, at) =>
      isShowing(word) || whole.includes(word) || hasLetter(word, letters) || namesNone(word, words[at + 1] ?? ""),
  );
}

/** Returns true if this first word makes a program that only runs tests do something else. */
export function isOtherWord(name: string, first: string): boolean {
  return FIRST.has(first) || FIRST_OF.get(name)?.has(first) === true;
}

/** Returns true for an option that makes any program describe itself, or what it would do. */
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
