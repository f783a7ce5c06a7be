/** Recognises Git commands that revert a commit, restore files, or reset the tree. */
import type { Command } from "./shell.ts";

/** Matches a commit of this branch; taking another branch's state is an update, not a revert. */
const COMMIT = String.raw`(?:(?:HEAD|@)(?:[~^]\d*)*|[0-9a-f]{7,40})`;
const GIT = /^(?: -[Cc] \S+| --no-pager| -P| --no-optional-locks| --literal-pathspecs)* ([a-z-]+)(?= |$)/;
/** Matches commands that revert. With an option that is not listed here, the effect is unknown. */
const BACK = new RegExp(
  `^(?:${[
    String.raw`revert(?: (?:--no-edit|-e|--edit|-n|--no-commit|-s|--signoff|-m|--mainline|[^- ]\S*))*`,
    String.raw`restore(?: (?:-q|--quiet|-W|--worktree|-SW|-WS|--no-progress|(?:-s|--source)[ =]${COMMIT}|[^- ]\S*))*(?: -- .*)?`,
    String.raw`checkout(?: (?:-f|--force|-q|--quiet|--no-progress|${COMMIT}))*(?: \.| -- .+)`,
    String.raw`reset(?: (?:-q|--quiet|${COMMIT}))* --hard(?: (?:-q|--quiet|${COMMIT}))*`,
  ].join("|")})$`,
);
/** Git commands that may run before a revert (BEFORE) or after it (BEHIND) without changing its effect. */
const BEFORE = /^(?:status|diff|log|show|clean)$/;
const BEHIND = /^(?:status|diff|log|show|clean|add|commit|push)$/;

/** Returns the command of a line that reverts; undefined if another Git command of the line may undo it. */
export function revertIn<T extends Command>(commands: readonly T[]): T | undefined {
  const gits = commands.flatMap((command) => {
    const [own = "", what = ""] = (command.name === "git" && GIT.exec(command.args)) || [];
    return command.name === "git" ? [{ command, what, said: what + command.args.slice(own.length) }] : [];
  });
  const at = gits.findIndex(({ what }) => !BEFORE.test(what));
  const isAlone = gits.slice(at + 1).every(({ what }) => BEHIND.test(what));
  return isAlone && BACK.test(gits[at]?.said ?? "") ? gits[at]?.command : undefined;
}
