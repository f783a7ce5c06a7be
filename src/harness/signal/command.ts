/** What a command line, and the code it has ended with, tell of an agent's work. Pure. Used by `signals.ts`. */
import { answersNo } from "./asking.ts";
import { type Course, courseOf, withoutTurns } from "./course.ts";
import { revertAt } from "./revert.ts";
import { readCommands, type SimpleCommand } from "./shell.ts";
import { isTestsOwn, meansNoTest, nameOf, programOf, runsTests } from "./test-command.ts";

/** How a command has ended by itself: its exit code, and what it has printed, as far as the host keeps it. */
export type Ended = Readonly<{ exit: number; output: string }>;

export type Told = {
  /** Undefined where it holds no test; `unclear` where its exit code is not, or not surely, that of the tests. */
  tests: "passed" | "failed" | "unclear" | undefined;
  hasFailed: boolean;
  hasReverted: boolean;
};

/** Nothing was run, or something from outside has ended it: `timeout`, not executable, not found, interrupted, killed, asked to end. */
const NOT_THEIRS: ReadonlySet<number> = new Set([124, 125, 126, 127, 129, 130, 137, 141, 143]);
const STOPPED: ReadonlySet<number> = new Set([124, 129, 130, 137, 141, 143]);
/** They do not fail; the first is an assignment. */
const QUIET: ReadonlySet<string> = new Set(["", ..."set echo printf true : exec export".split(" ")]);
/** Nor do these print anything. */
const SPEECHLESS: ReadonlySet<string> = new Set(["", ..."set true : export".split(" ")]);
/** They do not, unless a file or folder is missing that is named to them. */
const FILTERS: ReadonlySet<string> = new Set(["tee", "tail", "cat"]);
/** They fail with a 1 or a 2. */
const MOVING: ReadonlySet<string> = new Set(["cd", "pushd", "mkdir"]);
/** What pi and opencode, and Claude Code, write of a command themselves. */
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

/** `isThere`: the folders that the line goes to were there. */
function testsOf({ deciders, enders, hasUnset }: Course, exit: number, isThere: boolean): Told["tests"] {
  if (!deciders.some(({ words }) => runsTests(words)) || NOT_THEIRS.has(exit)) return "unclear";
  if (exit === 0) return "passed";
  const isSure = enders.every((one) => {
    if (one.mayNotStart || one.words.some((word) => mayStop(word, hasUnset))) return false;
    return runsTests(one.words) ? !meansNoTest(one.words, exit) : (isThere && moves(one)) || cannotEnd(one, exit);
  });
  return isSure ? "failed" : "unclear";
}

/** A variable that is not set can end the line: `${X:?}`, or any under `set -u`. */
function mayStop(word: string, hasUnset: boolean): boolean {
  return word.includes("${") || (hasUnset && word.includes("$"));
}

/**
 * Each folder change of the line has gone well: one that fails says so by its name, and nothing runs behind it. Where nothing is printed
 * before, something printed that has no such name in it is of what ran behind.
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

/** The command has not ended with that code. */
function cannotEnd({ words }: SimpleCommand, exit: number): boolean {
  const [program = "", ...rest] = programOf(words);
  const name = nameOf(program);
  if (MOVING.has(name)) return exit > 2;
  // `tail -n 20`
  const files = rest.filter((word) => !word.startsWith("-") && !/^\d+$/.test(word));
  return QUIET.has(name) || (FILTERS.has(name) && files.every((file) => name === "tee" && !file.includes("/")));
}
