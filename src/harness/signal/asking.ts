/** Which commands answer a question, so that their failure is a "no". Pure. Used by `command.ts`. */
import { nameOf, programOf } from "./test-command.ts";

/** They answer no with a 1; another code is an error. */
const WITH_ONE: ReadonlySet<string> = new Set([
  ..."grep egrep fgrep zgrep rg ag ack diff cmp comm test [ which type pgrep command find fd expr let false".split(" "),
]);
/** They answer no with a code of their own. */
const WITH_ANY: ReadonlySet<string> = new Set([
  ..."kill pidof id getent nc ncat ping curl wget lsof fuser ls stat file readlink realpath xargs jq yq".split(" "),
  ..."mountpoint tty pg_isready redis-cli rpm dpkg host dig nslookup".split(" "),
]);
/** First or second words of any program that ask it. */
const VERBS: ReadonlySet<string> = new Set([
  ..."status show view list ls get inspect info describe exists has search outdated whoami ps top".split(" "),
  ..."show-ref rev-parse ls-files ls-remote ls-tree check-ignore check-attr cat-file symbolic-ref".split(" "),
]);
const OPTIONS: ReadonlySet<string> = new Set(["--get", "--exit-code", "--exit-status", "--quiet", "--verify"]);

/** `words`: of one simple command. */
export function answersNo(words: readonly string[], exit: number): boolean {
  const [program = "", ...rest] = programOf(words[0] === "sudo" ? words.slice(1) : words);
  const name = nameOf(program);
  if (WITH_ONE.has(name)) return exit === 1;
  if (WITH_ANY.has(name)) return true;
  if (name === "git" && (rest.includes("diff") || rest.includes("grep"))) return exit === 1;
  const said = rest.filter((word) => !word.startsWith("-"));
  const isAsked = rest.some((word) => word.startsWith("--is-") || (name === "git" && OPTIONS.has(word)));
  return isAsked || said.slice(0, 2).some((word) => VERBS.has(word) || word.startsWith("is-"));
}
