/** Decides which commands answer a question, so that their failure means "no". Pure. Used by `command.ts`. */
import { nameOf, programOf } from "./test-command.ts";

/** Commands that answer no with exit code 1; another code is an error. */
const WITH_ONE: ReadonlySet<string> = new Set([
  ..."grep egrep fgrep zgrep rg ag ack diff cmp comm test [ which type pgrep command find fd expr let false pkill killall printenv read cat head tail wc".split(
    " ",
  ),
]);
/** Commands that answer no with a code of their own. */
const WITH_ANY: ReadonlySet<string> = new Set([
  ..."kill pidof id getent nc ncat ping curl wget lsof fuser ls stat file readlink realpath xargs jq yq".split(" "),
  ..."mountpoint tty pg_isready redis-cli rpm dpkg host dig nslookup ssh".split(" "),
]);
/** First or second words of any program that ask it. */
const VERBS: ReadonlySet<string> = new Set([
  ..."status show view list ls get inspect info describe exists has search outdated whoami ps top exec".split(" "),
  ..."show-ref rev-parse ls-files ls-remote ls-tree check-ignore check-attr cat-file symbolic-ref".split(" "),
]);
const VERB_STARTS = ["is-", "has-", "get-"];
const OPTIONS: ReadonlySet<string> = new Set(["--exit-code", "--exit-status", "-detailed-exitcode", "--contains"]);
const GIT_OPTIONS: ReadonlySet<string> = new Set(["--get", "--quiet", "--verify"]);
/** A program of one line, which is not read, may ask as well. */
const INTERPRETERS: ReadonlySet<string> = new Set("bash sh zsh node python python3 perl ruby".split(" "));

/** `words`: of one simple command. */
export function answersNo(words: readonly string[], exit: number): boolean {
  const [program = "", ...rest] = programOf(words[0] === "sudo" ? words.slice(1) : words);
  const name = nameOf(program);
  if (WITH_ONE.has(name)) return exit === 1;
  if (WITH_ANY.has(name)) return true;
  if (name === "git" && (rest.includes("diff") || rest.includes("grep"))) return exit === 1;
  const said = rest.filter((word) => !word.startsWith("-"));
  const isAsked = rest.some(
    (word) => word.startsWith("--is-") || OPTIONS.has(word) || (name === "git" && GIT_OPTIONS.has(word)),
  );
  if (isAsked || (INTERPRETERS.has(name) && rest.some((word) => ["-c", "-e", "-lc", "-ec"].includes(word))))
    return true;
  return said.slice(0, 2).some((word) => VERBS.has(word) || VERB_STARTS.some((start) => word.startsWith(start)));
}
