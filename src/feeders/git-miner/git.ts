/** Runs git on a repository, without the user's settings that would change the output, run a program or fetch. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { type PalaceError, unreadable } from "../../base/errors.ts";
import { quoted } from "../../base/shell-word.ts";
import type { Env } from "../../config/env.ts";
import { LOG_FORMAT } from "./parse-log.ts";

export type Repository = {
  /** Folder whose name is the default wing. For a worktree, it is the folder of the main clone. */
  root: string;
  /** Number of commits that HEAD reaches. */
  commits: number;
  isShallow: boolean;
};

export type Git = { folder: string; env: Env };

const CALM = [
  ...["--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false"],
  ...["-c", "log.showRoot=true", "-c", "diff.relative=false"],
];
const LOG = [
  ...["log", "-z", "--name-only", "--no-renames", "--no-notes", "--no-color", "--no-ext-diff", "-O/dev/null"],
  ...["--encoding=UTF-8", `--format=tformat:${LOG_FORMAT}`],
];
const COMPLAINT_LENGTH_MAX = 4_000;

/** Errors: FEEDER_SOURCE_UNREADABLE, with a hint that says what to type. */
export async function openRepository(dir: string, env: Env): Promise<{ git: Git; repository: Repository }> {
  const git = { folder: folderOf(dir), env };
  const answer = await ask(git, "rev-parse", "--git-dir", "--git-common-dir", "--is-shallow-repository", "--show-cdup");
  const [own = "", common = "", shallow, up = ""] = answer.split("\n");
  const place = { own: resolve(git.folder, own), common: resolve(git.folder, common) };
  const root = rootOf(place, resolve(git.folder, up));
  const commits = (await isBorn(git)) ? Number(await ask(git, "rev-list", "--count", "HEAD")) : 0;
  return { git, repository: { root, commits, isShallow: shallow === "true" } };
}

/** Streams the newest `limit` commits (0 for all) in the format of parse-log.ts. */
export function readLog(git: Git, limit: number): AsyncGenerator<Buffer> {
  return output(git, [...LOG, ...(limit > 0 ? [`--max-count=${limit}`] : []), "HEAD", "--"]);
}

/** Returns the project's folder. For a worktree, it is the clone's folder, which may be bare. */
function rootOf({ own, common }: { own: string; common: string }, top: string): string {
  const isInClone = [".git", ".bare"].includes(basename(common));
  const isTop = own === common && top !== common;
  return isTop ? top : isInClone ? dirname(common) : common.replace(/\.git$/, "");
}

async function isBorn(git: Git): Promise<boolean> {
  try {
    return (await ask(git, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")) !== "";
  } catch {
    return false;
  }
}

async function ask(git: Git, ...args: string[]): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of output(git, args)) parts.push(part);
  return Buffer.concat(parts).toString("utf8").replace(/\n$/, "");
}

/** Yields git's output. Ends git if the reader stops early. Errors: FEEDER_SOURCE_UNREADABLE if git fails. */
async function* output({ folder, env }: Git, args: readonly string[]): AsyncGenerator<Buffer> {
  // `detached` gives git its own process group, so that Ctrl-C reaches only our process.
  const child = spawn("git", [...CALM, "-C", folder, ...args], {
    ...{ env: calmEnvironment(env), stdio: ["ignore", "pipe", "pipe"], detached: true },
  });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(0, COMPLAINT_LENGTH_MAX);
  });
  const ended = endOf(child);
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) yield chunk;
    const code = await ended;
    if (code !== 0) throw refused(folder, complaint.trim());
  } finally {
    child.kill();
  }
}

/** Returns the exit code. Errors: FEEDER_SOURCE_UNREADABLE if git cannot be started. */
function endOf(child: ChildProcess): Promise<number | null> {
  const ended = once(child, "close").then(
    ([code]) => code as number | null,
    (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === "ENOENT";
      throw unreadable(
        isMissing ? "git is not installed, or not in PATH" : `git cannot be started: ${error.message}`,
        "install git (apt install git, brew install git), then type the command again",
        error,
      );
    },
  );
  // Avoids an unhandled rejection: the caller awaits the exit code only after the output.
  ended.catch(() => {});
  return ended;
}

/** Removes all GIT_* variables, which a hook or the user may have set for another repository, and adds ours. */
function calmEnvironment(env: Env): Env {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith("GIT_"));
  const own = { GIT_OPTIONAL_LOCKS: "0", GIT_NO_LAZY_FETCH: "1", GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };
  return { ...Object.fromEntries(kept), ...own };
}

function folderOf(dir: string): string {
  try {
    return realpathSync(dir);
  } catch (error) {
    throw unreadable(
      `${dir} does not exist or cannot be read`,
      "give the folder of a git repository: palace mine git FOLDER",
      error,
    );
  }
}

function refused(folder: string, complaint: string): PalaceError {
  const fatal = /^fatal: (.*)$/m.exec(complaint)?.[1] ?? (complaint || "git ended without a message");
  if (/not a git repository/i.test(complaint))
    return unreadable(
      `${folder} is in no git repository`,
      "give the folder of one: palace mine git FOLDER; documents without git: palace mine docs FOLDER",
    );
  const hint = /dubious ownership/.test(complaint)
    ? `if you trust it: git config --global --add safe.directory ${quoted(folder)}`
    : `see what git says: git -C ${quoted(folder)} log -1`;
  return unreadable(`git cannot read ${folder}: ${fatal}`, hint);
}
