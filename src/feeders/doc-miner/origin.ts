/** Identifies a project under git, so that it is recognised in another folder after its documents were edited. Runs no git. */
import { createHash } from "node:crypto";
import { join, relative } from "node:path";
import { readHead } from "../../base/regular-file.ts";
import { commonFolder, findAbove } from "../../base/worktree.ts";

/** Maximum size of git's files that we read. */
const READ_MAX_BYTES = 64 * 1024;

/**
 * Returns a digest of the repository's remote, else of its first commit, and of the folder in the repository. Undefined without git, and if
 * git's files tell neither. Never throws. Two clones of one repository have the same digest.
 */
export function originOf(root: string): string | undefined {
  const repository = findAbove(root, [".git"]);
  if (repository === undefined) return undefined;
  const read = (name: string): string => {
    try {
      return readHead(join(commonFolder(repository), name), READ_MAX_BYTES);
    } catch {
      return "";
    }
  };
  const witness = remoteIn(read("config")) ?? firstCommitIn(read("logs/HEAD"));
  if (witness === undefined) return undefined;
  return createHash("sha256")
    .update(JSON.stringify([witness, relative(repository, root)]))
    .digest("hex")
    .slice(0, 32);
}

/** Returns the address of the remote `origin`, else of the first remote. */
function remoteIn(config: string): string | undefined {
  const remotes = config.split(/^\s*\[/m).flatMap((section): [name: string, url: string][] => {
    const [, name] = /^remote "(.*)"\]/.exec(section) ?? [];
    const [, url] = /^\s*url\s*=\s*(.*?)\s*$/m.exec(section) ?? [];
    return name === undefined || url === undefined ? [] : [[name, url]];
  });
  return (remotes.find(([name]) => name === "origin") ?? remotes[0])?.[1];
}

/** Returns the repository's first commit, if git's log of HEAD begins with it. */
function firstCommitIn(log: string): string | undefined {
  return /^0+ ([0-9a-f]{40,64}) .*\tcommit \(initial\)/.exec(log)?.[1];
}
