/** Chooses the host's folder for /workspace. A folder that the user once names is written to `.env` for every later `up`. */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { quoted } from "../base/shell-word.ts";
import { badValue } from "../base/errors.ts";
import { hasSetting, writeSettings } from "./settings.ts";

/** Chosen folder. `isKept`: it is written to `.env`. */
export type Chosen = Readonly<{ folder: string; isKept: boolean }>;

export type Wanted = Readonly<{
  root: string;
  /** Value of `--workspace`, relative to `cwd`. The variable is relative to `root`, as in compose. */
  option: string | undefined;
  variable: string | undefined;
  cwd: string;
  /** Folder that compose mounts by default. */
  resolved: string;
  /** Folder that the devbox mounted last, from its container or our record. */
  last: string | undefined;
}>;

/** Chooses without writing. Errors: CONFIG_BAD_VALUE for a folder that is missing or cannot be mounted. */
export function chooseWorkspace(wanted: Wanted): Chosen {
  const { root, option, variable, cwd, resolved, last } = wanted;
  const named = option ?? variable;
  if (named !== undefined) {
    const folder = option === undefined ? resolve(root, expand(named)) : resolve(cwd, expand(named));
    assertFolder(folder, `mkdir -p ${quoted(folder)}`);
    return { folder, isKept: true };
  }
  assertWorkspace(root, resolved);
  if (last === undefined || last === resolved || hasSetting(root, "DEVBOX_WORKSPACE"))
    return { folder: resolved, isKept: false };
  assertFolder(last, `palace devbox up --workspace ${quoted(resolved)}`);
  return { folder: last, isKept: true };
}

/** Refuses a workspace of `.env` that was moved or deleted: Docker would mount an empty folder. Errors: CONFIG_BAD_VALUE. */
export function assertWorkspace(root: string, folder: string): void {
  if (!hasSetting(root, "DEVBOX_WORKSPACE")) return;
  assertFolder(
    folder,
    `palace devbox up --workspace DIR names its new place; for a new folder: mkdir -p ${quoted(folder)}`,
  );
}

export function keepWorkspace(root: string, { folder, isKept }: Chosen, log: (line: string) => void): void {
  if (isKept && writeSettings(root, { DEVBOX_WORKSPACE: folder }))
    log(`/workspace is ${folder}, from now on (written to .env)`);
}

/** Refuses a workspace that is missing or has a colon. Docker would make a missing folder as root, and splits a mount at colons. */
function assertFolder(folder: string, hint: string): void {
  if (folder.includes(":")) {
    const link = folder.replaceAll(":", "-");
    throw badValue(
      `the workspace ${folder} has a colon in its path, which Docker cannot mount; nothing was changed`,
      `mkdir -p ${quoted(dirname(link))} && ln -s ${quoted(folder)} ${quoted(link)} && palace devbox up --workspace ${quoted(link)}`,
    );
  }
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw badValue(`the workspace ${folder} is not a folder here; nothing was changed`, hint);
}

function expand(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
