/** Recognises Git commands that go back: they revert a commit, restore files, or reset the tree. Pure. Used by `command.ts`. */
import { nameOf, programOf } from "./test-command.ts";

/** Options that do not change what the command does; with any other option, its effect is unknown. `git` lists Git's own options. */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  git: ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"],
  revert: ["--no-edit", "-e", "--edit", "-n", "--no-commit", "-s", "--signoff", "-m", "--mainline"],
  restore: [
    "-q",
    "--quiet",
    "-W",
    "--worktree",
    "-S",
    "--staged",
    "-SW",
    "-WS",
    "-s",
    "--source",
    "--no-progress",
    "--",
  ],
  checkout: ["-f", "--force", "-q", "--quiet", "--no-progress", "--"],
  reset: ["--hard", "-q", "--quiet"],
};
/** Git commands that may come before, or after, the command that takes something back without changing its effect. */
const BEFORE: ReadonlySet<string> = new Set(["status", "diff", "log", "show", "clean"]);
const BEHIND: ReadonlySet<string> = new Set([...BEFORE, "add", "commit", "push"]);
const COMMIT = /^(?:HEAD|@)(?:[~^]\d*)*$/;

type Git = { what: string; rest: readonly string[]; isPlain: boolean };

/**
 * Returns the index of the command that takes something back; -1 if there is none, or if another Git command of the line may undo it.
 * `all`: the words of each command.
 */
export function revertAt(all: readonly (readonly string[])[]): number {
  const gits = all.map(gitOf);
  const at = gits.findIndex((git) => git !== undefined && !BEFORE.has(git.what));
  const git = gits[at];
  const isAlone = gits.slice(at + 1).every((other) => other === undefined || BEHIND.has(other.what));
  return git !== undefined && git.isPlain && takesBack(git) && isAlone ? at : -1;
}

function gitOf(words: readonly string[]): Git | undefined {
  const [program = "", ...all] = programOf(words);
  if (nameOf(program) !== "git") return undefined;
  const at = all.findIndex((word, index) => !word.startsWith("-") && !["-C", "-c"].includes(all[index - 1] ?? ""));
  const [what = "", ...rest] = at === -1 ? [] : all.slice(at);
  const own = all.slice(0, Math.max(at, 0)).filter((word) => word.startsWith("-") && word !== "-C" && word !== "-c");
  const known = Object.hasOwn(PLAIN, what) ? (PLAIN[what] ?? []) : [];
  const options = rest
    .slice(0, rest.includes("--") ? rest.indexOf("--") : undefined)
    .filter((word) => word.startsWith("-"));
  const isPlain =
    own.every((word) => PLAIN["git"]?.includes(word)) &&
    options.every((word) => known.includes(word.split("=", 1)[0] ?? ""));
  return { what, rest, isPlain };
}

function takesBack({ what, rest }: Git): boolean {
  const split = rest.indexOf("--");
  const given = (split === -1 ? rest : rest.slice(0, split)).filter((word) => !word.startsWith("-"));
  switch (what) {
    case "revert":
      return true;
    case "restore":
      return isOfTree(rest) && sourcesOf(rest).every(isOfThisBranch);
    case "checkout":
      // The words before the paths name the commit that the files come from.
      if (split === -1) return given.at(-1) === "." && given.slice(0, -1).every(isOfThisBranch);
      return split < rest.length - 1 && given.every(isOfThisBranch);
    case "reset":
      return rest.includes("--hard") && given.every(isOfThisBranch);
    default:
      return false;
  }
}

/** Returns true if the command restores files of the tree. With `--staged` alone the files stay as they are. */
function isOfTree(words: readonly string[]): boolean {
  const isStaged = words.includes("--staged") || words.includes("-S");
  return !isStaged || words.includes("--worktree") || words.includes("-W");
}

function sourcesOf(words: readonly string[]): string[] {
  return words.flatMap((word, at) => {
    if (word === "-s" || word === "--source") return [words[at + 1] ?? ""];
    return word.startsWith("--source=") ? [word.slice("--source=".length)] : [];
  });
}

/** Returns true for a commit of this branch: taking the state of another branch is catching up, not going back. */
function isOfThisBranch(commit: string): boolean {
  return COMMIT.test(commit) || /^[0-9a-f]{7,40}$/.test(commit);
}
