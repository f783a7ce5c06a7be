/** Reads signals of an agent's work from a command line and its exit code. */
import { answersNo } from "./asking.ts";
import { revertIn } from "./revert.ts";
import { commandOf, readCommands, type Step } from "./shell.ts";
import { type TestCommand, testOf } from "./test-command.ts";

/** Result of a command that ended by itself: its exit code, and the part of its output that the host stores. */
export type Ended = Readonly<{ exit: number; output: string }>;

export type Told = {
  /** Result of the tests; undefined if the line runs none. `unclear` if the exit code may come from another command. */
  tests: "passed" | "failed" | "unclear" | undefined;
  hasFailed: boolean;
  hasReverted: boolean;
};

/** Words of the shell's control flow. With such a word we do not know which command's exit code the line has. */
const TURNS = [
  String.raw`!|\{|\}|\[\[|\]\]|if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|coproc|trap|eval|exec|exit`,
  "return|alias|unalias|shopt|break|continue|builtin|enable|hash|wait|logout|suspend|set|command(?! -[vV])",
].join("|");
const TURN = new RegExp(`^(?:${TURNS})(?: |$)`);
const LEADING_TURNS = new RegExp(`^(?:(?:${TURNS}) )+`);
/** Matches commands at the start of a line that set the shell's options. */
const SETS = /^\s*(?:set(?: -[eux]*(?:o pipefail)?)+[ \t]*(?:;|&&|\n)\s*)*/;
/** Exit codes that do not tell the command's result: of `timeout`, of a command that the shell cannot start, and of signals. */
const NOT_THEIRS: ReadonlySet<number> = new Set([124, 125, 126, 127, 129, 130, 137, 141, 143]);
const STOPPED: ReadonlySet<number> = new Set([124, 129, 130, 137, 141, 143]);
/** Commands that never fail, unless a file is missing. An assignment such as `A=1` has an empty name. */
const NEVER_FAILS = /^(?:(?:echo|printf|true|:|export)?(?: .*)?|tee(?: [^/ ]+)*|(?:tail|cat)(?: (?:-\S+|\d+))*)$/;
const SPEECHLESS = /^(?:true|:|export)?$/;
/** Commands that change or make a folder. They fail only with exit code 1 or 2. */
const MOVES = /^(?:cd|pushd|mkdir)$/;
/** Lines that pi, opencode and Claude Code add to the output themselves. */
const OF_THE_HOST = /^(?:\(no output\)|Shell cwd was reset to .*)$/gm;
/** Matches the command name in the message of a failed `cd`, `pushd` or `mkdir`. In some shells zoxide replaces `cd`. */
const MOVING_NAMED = /\b(?:cd|pushd|mkdir|zoxide)\b/;

/** `named`: beginnings of the user's own test commands. */
export function readCommand(line: string, { exit, output }: Ended, named: readonly string[] = []): Told {
  const told: Told = { tests: undefined, hasFailed: false, hasReverted: false };
  const [options = ""] = SETS.exec(line) ?? [];
  const commands = readCommands(line.slice(options.length)) ?? [];
  const steps = commands.map((command) => ({ ...command, test: testOf(command, named) }));
  if (steps.some(({ call }) => TURN.test(call))) {
    // `if npm test` also runs tests.
    const hasTests = steps.some(({ call }) => testOf(commandOf(call.replace(LEADING_TURNS, "")), named)?.runs === true);
    return { ...told, tests: hasTests ? "unclear" : undefined };
  }
  if (steps.length === 0) return told;
  const end = steps.findLastIndex(({ after }, at) => at < steps.length - 1 && (after === ";" || after === "&"));
  const last = steps.slice(end + 1);
  // The exit code of the line comes from its last commands, unless `||` or `&` lets another command decide.
  const isReplaced = last.some(({ after }) => after === "||" || after === "&");
  const deciders = isReplaced ? [] : last.filter(({ after }) => after !== "|" || options.includes("pipefail"));
  const enders = / -[ux]*e/.test(options) ? steps : last;
  if (steps.some(runs)) {
    const isTheirs = deciders.some(runs) && !NOT_THEIRS.has(exit);
    const isThere = hasMoved(steps, output);
    const mayStop = / -[ex]*u/.test(options) ? "$" : "${";
    const isSure = enders.every((one) => !(one.prefix + one.call).includes(mayStop) && hasNotEnded(one, exit, isThere));
    told.tests = isTheirs && exit === 0 ? "passed" : isTheirs && isSure ? "failed" : "unclear";
  } else if (exit !== 0 && !STOPPED.has(exit))
    told.hasFailed = !enders.some((one) => one.test !== undefined || answersNo(one, exit));
  const reverting = revertIn(steps);
  return { ...told, hasReverted: exit === 0 && reverting !== undefined && deciders.includes(reverting) };
}

type Read = Step & { test: TestCommand | undefined };
const runs = ({ test }: Read): boolean => test?.runs === true;

/** Returns true if `exit` does not come from this command, or means that its tests failed. `isThere`: all folder changes have succeeded. */
function hasNotEnded(one: Read, exit: number, isThere: boolean): boolean {
  if (one.mayNotStart) return false;
  if (runs(one)) return one.test?.codes.includes(exit) === false;
  return MOVES.test(one.name) ? isThere || exit > 2 : NEVER_FAILS.test(one.name + one.args);
}

/**
 * Returns true if every `cd`, `pushd` and `mkdir` of the line has surely succeeded. A failed command prints its name and ends the line. So
 * output without such a name proves success, unless the output may come from an earlier command.
 */
function hasMoved(steps: readonly Step[], output: string): boolean {
  const last = steps.findLastIndex(({ name }) => MOVES.test(name));
  const isQuiet = steps.slice(0, last).every(({ name }) => MOVES.test(name) || SPEECHLESS.test(name));
  return isQuiet && output.replace(OF_THE_HOST, "").trim() !== "" && !MOVING_NAMED.test(output);
}
