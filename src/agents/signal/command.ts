/** Reads signals of an agent's work from a command line and its exit code. Pure. Used by `signals.ts`. */
import { answersNo } from "./asking.ts";
import { type Course, courseOf, withoutTurns } from "./course.ts";
import { revertAt } from "./revert.ts";
import { readCommands, type SimpleCommand } from "./shell.ts";
import { isTestsOwn, meansNoTest, nameOf, programOf, runsTests } from "./test-command.ts";

/** Result of a command that ended by itself: its exit code, and its output, as far as the host keeps it. */
export type Ended = Readonly<{ exit: number; output: string }>;

export type Told = {
  /** Result of the tests; undefined if the line runs none. `unclear` if the exit code is not, or not surely, that of the tests. */
  tests: "passed" | "failed" | "unclear" | undefined;
  hasFailed: boolean;
  hasReverted: boolean;
};

/** Exit codes that are not the command's own: timeout, not executable, not found, interrupted, killed, asked to end. */
const NOT_THEIRS: ReadonlySet<number> = new Set([124, 125, 126, 127, 129, 130, 137, 141, 143]);
const STOPPED: ReadonlySet<number> = new Set([124, 129, 130, 137, 141, 143]);
/** Commands that never fail; "" is an assignment. */
const QUIET: ReadonlySet<string> = new Set(["", ..."set echo printf true : exec export".split(" ")]);
/** Commands of `QUIET` that print nothing either. */
const SPEECHLESS: ReadonlySet<string> = new Set(["", ..."set true : export".split(" ")]);
/** Commands that fail only if a file or folder in their arguments is missing. */
const FILTERS: ReadonlySet<string> = new Set(["tee", "tail", "cat"]);
/** Commands that fail only with exit code 1 or 2. */
const MOVING: ReadonlySet<string> = new Set(["cd", "pushd", "mkdir"]);
/** Lines that the host itself adds to the output: pi and opencode, and Claude Code. */
const OF_THE_HOST = /^(?:\(no output\)|Shell cwd was reset to .*)$/gm;
/** zoxide takes the place of `cd` in some shells. */
const MOVING_NAMED = /\b(?:cd|pushd|mkdir|zoxide)\b/;
const SILENT: Told = { tests: undefined, hasFailed: false, hasReverted: false };

export function readCommand(line: string, { exit, output }: Ended): Told {
  const commands = readCommands(line);
  if (commands === undefined) return SILENT;
  const course = courseOf(commands);
  if (course === undefined) {
    const hasTests = commands.some(({ words }) => runsTests(withoutTurns(words)));
    return { ...SILENT, tests: hasTests ? "unclear" : undefined };
  }
  const tests = commands.some(({ words }) => runsTests(words))
    ? testsOf(course, exit, hasMoved(commands, output))
    : undefined;
  const isFailure = exit !== 0 && !STOPPED.has(exit) && tests === undefined;
  const reverting = commands[revertAt(commands.map(({ words }) => words))];
  return {
    tests,
    hasFailed: isFailure && !course.enders.some(({ words }) => isTestsOwn(words) || answersNo(words, exit)),
    hasReverted: exit === 0 && reverting !== undefined && course.deciders.includes(reverting),
  };
}

/** Returns the result of the tests. `isThere`: the folders that the line changes to exist. */
function testsOf({ deciders, enders, hasUnset }: Course, exit: number, isThere: boolean): Told["tests"] {
  if (!deciders.some(({ words }) => runsTests(words)) || NOT_THEIRS.has(exit)) return "unclear";
  if (exit === 0) return "passed";
  const isSure = enders.every((one) => {
    if (one.mayNotStart || one.words.some((word) => mayStop(word, hasUnset))) return false;
    return runsTests(one.words) ? !meansNoTest(one.words, exit) : (isThere && moves(one)) || cannotEnd(one, exit);
  });
  return isSure ? "failed" : "unclear";
}

/** Returns true for a word that may end the line because a variable is not set: `${X:?}`, or any variable under `set -u`. */
function mayStop(word: string, hasUnset: boolean): boolean {
  return word.includes("${") || (hasUnset && word.includes("$"));
}

/**
 * Returns true if each folder change of the line has surely succeeded. A change that fails prints its own name, and no command after it
 * runs. So if the commands before print nothing, output without such a name comes from a command after the changes.
 */
function hasMoved(commands: readonly SimpleCommand[], output: string): boolean {
  const last = commands.findLastIndex(moves);
  const isQuiet = commands.slice(0, last).every((one) => moves(one) || SPEECHLESS.has(programNameOf(one)));
  return isQuiet && output.replace(OF_THE_HOST, "").trim() !== "" && !MOVING_NAMED.test(output);
}

function moves(one: SimpleCommand): boolean {
  return MOVING.has(programNameOf(one));
}

function programNameOf({ words }: SimpleCommand): string {
  return nameOf(programOf(words)[0] ?? "");
}

/** Returns true if the command cannot have ended with that code. */
function cannotEnd({ words }: SimpleCommand, exit: number): boolean {
  const [program = "", ...rest] = programOf(words);
  const name = nameOf(program);
  if (MOVING.has(name)) return exit > 2;
  // `tail -n 20`
  const files = rest.filter((word) => !word.startsWith("-") && !/^\d+$/.test(word));
  return QUIET.has(name) || (FILTERS.has(name) && files.every((file) => name === "tee" && !file.includes("/")));
}
