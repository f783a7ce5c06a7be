/** What a command line, and the code it has ended with, tell of an agent's work. Pure. Used by `signals.ts`. */
import { readCommands, type SimpleCommand } from "./shell.ts";
import { nameOf, programOf, runsTests } from "./test-command.ts";

export type Told = {
  /** Undefined where it holds no test; `unclear` where its exit code is not, or not surely, that of the tests. */
  tests: "passed" | "failed" | "unclear" | undefined;
  hasFailed: boolean;
  hasReverted: boolean;
};

/** Nothing was run, or something from outside has ended it: `timeout`, not executable, not found, interrupted, killed, asked to end. */
const NOT_THEIRS: ReadonlySet<number> = new Set([124, 126, 127, 130, 137, 143]);
const STOPPED: ReadonlySet<number> = new Set([124, 130, 137, 143]);
/** They hardly fail, so that a line which fails with them has failed by its tests; the first is an assignment. */
const QUIET: ReadonlySet<string> = new Set([
  "",
  ..."cd pushd export set source . echo printf mkdir true : tee tail head cat".split(" "),
]);
/** They answer no with a 1. */
const ASKING: ReadonlySet<string> = new Set(
  "grep egrep fgrep rg ag diff cmp test [ [[ ! which type pgrep command".split(" "),
);
const SILENT: Told = { tests: undefined, hasFailed: false, hasReverted: false };

export function readCommand(line: string, exit: number): Told {
  const commands = readCommands(line);
  if (commands === undefined) return SILENT;
  const tests = commands.some(({ words }) => runsTests(words)) ? testsOf(commands, exit) : undefined;
  return {
    tests,
    hasFailed: tests === undefined && exit !== 0 && !STOPPED.has(exit) && !(exit === 1 && isAsking(commands)),
    hasReverted: exit === 0 && commands.some(({ words, before }) => before !== "||" && isRevert(words)),
  };
}

function testsOf(commands: readonly SimpleCommand[], exit: number): Told["tests"] {
  const last = deciding(commands);
  const hasPipefail = isSet(commands, (option) => option === "pipefail");
  const deciders = last.filter(({ words, after }) => runsTests(words) && (after !== "|" || hasPipefail));
  if (deciders.length === 0 || NOT_THEIRS.has(exit)) return "unclear";
  if (exit === 0) return "passed";
  // Under `set -e` whatever fails ends the line.
  const isStrict = isSet(commands, (option) => option.startsWith("-") && option.includes("e"));
  const isSure = (isStrict ? commands : last).every(({ words }) => runsTests(words) || isQuiet(words));
  return isSure ? "failed" : "unclear";
}

/** The commands whose exit codes become that of the line; none where an `||`, an `&` or a `!` may have put another in its place. */
function deciding(commands: readonly SimpleCommand[]): readonly SimpleCommand[] {
  const end = commands.findLastIndex(({ after }, at) => at < commands.length - 1 && (after === ";" || after === "&"));
  const last = commands.slice(end + 1);
  const isTurned = commands.some(({ words }) => words[0] === "!");
  return isTurned || last.some(({ after }) => after === "||" || after === "&") ? [] : last;
}

function isQuiet(words: readonly string[]): boolean {
  return QUIET.has(nameOf(programOf(words)[0] ?? ""));
}

function isSet(commands: readonly SimpleCommand[], isMeant: (option: string) => boolean): boolean {
  return commands.some(({ words: [name, ...options] }) => name === "set" && options.some(isMeant));
}

function isAsking(commands: readonly SimpleCommand[]): boolean {
  const words = programOf(commands.at(-1)?.words ?? []);
  const isGitsOwn = words[0] === "git" && (words.includes("diff") || words.includes("grep"));
  return isGitsOwn || ASKING.has(nameOf(words[0] ?? ""));
}

/** Git brings back what was before: a commit's opposite, files as they were, a tree without its changes. */
function isRevert(words: readonly string[]): boolean {
  const [program = "", ...all] = programOf(words);
  if (nameOf(program) !== "git") return false;
  const at = all.findIndex((word, index) => !word.startsWith("-") && !["-C", "-c"].includes(all[index - 1] ?? ""));
  const [what = "", ...rest] = all.slice(Math.max(at, 0));
  switch (what) {
    case "revert":
      return !rest.some((word) => ["--abort", "--quit", "--skip", "--continue"].includes(word));
    case "restore":
      return !rest.some((word) => word === "--staged" || word === "-S") || rest.includes("--worktree");
    case "checkout":
      return rest.at(-1) === "." || (rest.includes("--") && rest.at(-1) !== "--");
    case "reset":
      return rest.includes("--hard") && rest.every((word) => word.startsWith("-") || isOfThisBranch(word));
    default:
      return false;
  }
}

/** Another branch is caught up with, not gone back to. */
function isOfThisBranch(commit: string): boolean {
  return commit.startsWith("HEAD") || commit.startsWith("@") || /^[0-9a-f]{7,40}$/.test(commit);
}
