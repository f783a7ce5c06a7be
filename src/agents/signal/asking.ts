/** Recognises commands that ask a question: if such a command fails, it has answered "no". */
import { type Command, commandOf } from "./shell.ts";

/** Commands for which exit code 1 means "no"; any other code except 0 is an error. */
const WITH_ONE =
  /^(?:[efz]?grep|rg|ag|ack|diff|cmp|comm|test|\[|which|type|pgrep|command|find|fd|expr|let|false|pkill|killall|printenv|read|cat|head|tail|wc)$/;
/** Commands for which any exit code except 0 may mean "no". */
const WITH_ANY =
  /^(?:kill|pidof|id|getent|nc|ncat|ping|curl|wget|lsof|fuser|ls|stat|file|readlink|realpath|xargs|jq|yq|mountpoint|tty|pg_isready|redis-cli|rpm|dpkg|host|dig|nslookup|ssh)$/;
/** First or second arguments that ask a question, whatever the program is. */
const VERB =
  /^(?:(?:status|show|view|list|ls|get|inspect|info|describe|exists|has|search|outdated|whoami|ps|top|exec|show-ref|rev-parse|ls-files|ls-remote|ls-tree|check-ignore|check-attr|cat-file|symbolic-ref)$|is-|has-|get-)/;
const OPTION = / (?:--is-\S*|--exit-code|--exit-status|-detailed-exitcode|--contains)(?: |$)/;
const GIT_OPTION = / (?:--get|--quiet|--verify)(?: |$)/;
/** Interpreters. We do not read the program on their command line, so we assume that it may ask a question. */
const INTERPRETER = /^(?:bash|sh|zsh|node|python3?|perl|ruby)$/;

export function answersNo({ call }: Command, exit: number): boolean {
  const { name, args } = commandOf(call.replace(/^sudo /, ""));
  if (WITH_ONE.test(name) || (name === "git" && / (?:diff|grep)(?: |$)/.test(args))) return exit === 1;
  if (WITH_ANY.test(name) || OPTION.test(args) || (name === "git" && GIT_OPTION.test(args))) return true;
  if (INTERPRETER.test(name) && / -(?:[le]?c|e)(?: |$)/.test(args)) return true;
  const said = args.split(" ").filter((word) => word !== "" && !word.startsWith("-"));
  return said.slice(0, 2).some((word) => VERB.test(word));
}
