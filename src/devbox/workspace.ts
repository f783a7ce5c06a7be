/**
 * Chooses the folder for /workspace. A folder that was named once is written to `.env`, so that every later `up`, ours or compose's own,
 * mounts it again.
 */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { quoted } from "../base/shell-word.ts";
import { PalaceError } from "../base/errors.ts";
import { hasSetting, writeSettings } from "./settings.ts";

/** `isKept`: it is to be the workspace of every later `up`. */
export type Chosen = Readonly<{ folder: string; isKept: boolean }>;

export type Wanted = Readonly<{
  root: string;
  /** Named in this call: an option's is relative to where it is typed, the variable's to docker-compose.yml, as compose has it. */
  option: string | undefined;
  variable: string | undefined;
  cwd: string;
  /** The folder that compose would mount by itself. */
  resolved: string;
  /** The folder that the devbox had the last time: its container says it, else our note. */
  last: string | undefined;
}>;

/**
 * Returns the folder, and changes nothing: `keepWorkspace` writes it down once the devbox runs with it. Errors: CONFIG_BAD_VALUE for a
 * folder that is not there or that cannot be mounted.
 */
export function chooseWorkspace(wanted: Wanted): Chosen {
  const { root, option, variable, cwd, resolved, last } = wanted;
  const named = option ?? variable;
  if (named !== undefined) {
    const folder = option === undefined ? resolve(root, expand(named)) : resolve(cwd, expand(named));
    assertFolder(folder, `mkdir -p ${quoted(folder)}`);
    return { folder, isKept: true };
  }
  if (last === undefined || last === resolved || hasSetting(root, "DEVBOX_WORKSPACE"))
    return { folder: resolved, isKept: false };
  assertFolder(last, `palace devbox up --workspace ${quoted(resolved)}`);
  return { folder: last, isKept: true };
}

/** Writes it to `.env`, where it is to stay. */
export function keepWorkspace(root: string, { folder, isKept }: Chosen, log: (line: string) => void): void {
  if (isKept && writeSettings(root, { DEVBOX_WORKSPACE: folder }))
    log(`/workspace is ${folder}, from now on (written to .env)`);
}

/** Docker would make a folder that is missing, as root's, and splits a mount at its colons. */
function assertFolder(folder: string, hint: string): void {
  if (folder.includes(":")) {
    const link = folder.replaceAll(":", "-");
    throw new PalaceError(
      "CONFIG_BAD_VALUE",
      `the workspace ${folder} has a colon in its path, which Docker cannot mount; nothing was changed`,
      `mkdir -p ${quoted(dirname(link))} && ln -s ${quoted(folder)} ${quoted(link)} && palace devbox up --workspace ${quoted(link)}`,
    );
  }
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new PalaceError("CONFIG_BAD_VALUE", `the workspace ${folder} is no folder here; nothing was changed`, hint);
}

function expand(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
