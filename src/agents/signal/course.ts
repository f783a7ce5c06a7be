/** Follows how a line goes on from one command to the next, and which command its exit code belongs to. Pure. Used by `command.ts`. */
import type { SimpleCommand } from "./shell.ts";
import { nameOf, programOf } from "./test-command.ts";

/** Shell words that change how the line goes on: with them it is unknown which commands ran and whose exit code the line has. */
const TURNS: ReadonlySet<string> = new Set([
  ..."! { } [[ ]] (( )) if then elif else fi for while until do done case esac select function coproc".split(" "),
  ..."trap eval exit return alias unalias shopt break continue builtin enable hash wait logout suspend".split(" "),
]);
const SET_OPTIONS: ReadonlySet<string> = new Set(["pipefail", "errexit", "nounset", "xtrace", "verbose"]);
/** Letters of `set` whose effects are all known here. */
const SET_LETTERS = "euxvo";

export type Course = Readonly<{
  /** Commands whose exit codes become that of the line; empty if another command may have replaced it. */
  deciders: readonly SimpleCommand[];
  /** Commands that may have ended the line: all of them under `set -e`. */
  enders: readonly SimpleCommand[];
  hasUnset: boolean;
}>;

/** Returns the course of a line; undefined if it cannot be followed. */
export function courseOf(commands: readonly SimpleCommand[]): Course | undefined {
  const options = optionsOf(commands);
  if (options === undefined || commands.some((command, at) => turns(command, at === commands.length - 1)))
    return undefined;
  const end = commands.findLastIndex(({ after }, at) => at < commands.length - 1 && (after === ";" || after === "&"));
  const last = commands.slice(end + 1);
  const isReplaced = last.some(({ after }) => after === "||" || after === "&");
  const deciders = isReplaced ? [] : last.filter(({ after }) => after !== "|" || options.has("pipefail"));
  return { deciders, enders: options.has("errexit") ? commands : last, hasUnset: options.has("nounset") };
}

/** Returns a command without the words that change the line's course, such as `if` in `if npm test`. */
export function withoutTurns(words: readonly string[]): readonly string[] {
  const start = words.findIndex((word) => !TURNS.has(word));
  return start === -1 ? [] : words.slice(start);
}

function turns({ words }: SimpleCommand, isLast: boolean): boolean {
  const [first = ""] = words;
  const program = programOf(words);
  const name = program[0] ?? "";
  if (TURNS.has(first) || TURNS.has(name)) return true;
  // After `exec PROGRAM` no command of the line runs; `exec` without a program only redirects.
  if (words.includes("exec") && !isLast && program.length > 0 && first === "exec") return true;
  return nameOf(name) === "command" && !/^-[vV]$/.test(program[1] ?? "");
}

/** Returns the options that `set` switches on for the line; undefined if they are unknown. */
function optionsOf(commands: readonly SimpleCommand[]): ReadonlySet<string> | undefined {
  const on = new Set<string>();
  for (const { words, before, after } of commands) {
    if (words[0] !== "set") continue;
    const changes = changesOf(words.slice(1));
    const isPlain = (before === "" || before === ";") && (after === ";" || after === "&&");
    if (changes === undefined || !isPlain) return undefined;
    for (const [sign, option] of changes) {
      if (sign === "-") on.add(option);
      // Only `pipefail` can be switched off again: the other options may have ended the line before.
      else if (option === "pipefail") on.delete(option);
    }
  }
  return on;
}

/** `-euo pipefail`: each option, and whether it is switched on. */
function changesOf(words: readonly string[]): [sign: string, option: string][] | undefined {
  const changes: [string, string][] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const sign = word.charAt(0);
    if ((sign !== "-" && sign !== "+") || word.length < 2) return undefined;
    for (const letter of word.slice(1)) {
      if (!SET_LETTERS.includes(letter)) return undefined;
      const option = letter === "o" ? (words[++at] ?? "") : { e: "errexit", u: "nounset" }[letter];
      if (letter === "o" && !SET_OPTIONS.has(option ?? "")) return undefined;
      if (option !== undefined) changes.push([sign, option]);
    }
  }
  return changes;
}
