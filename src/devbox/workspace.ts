/**
 * Which folder is /workspace. What was named once stays: it is written to `.env`, so that a later `up` that names none, ours or
 * compose's own, mounts no other folder without a word.
 */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { quoted } from "../platform/shell-word.ts";
import { PalaceError } from "../protocol/errors.ts";
import { hasSetting, writeSettings } from "./settings.ts";

export type Wanted = Readonly<{
  root: string;
  /** Named in this call: an option's is relative to where it is typed, the variable's to docker-compose.yml, as compose has it. */
  option: string | undefined;
  variable: string | undefined;
  cwd: string;
  /** What compose would mount if nothing was named now. */
  resolved: string;
  /** What the devbox had the last time: of its container, else as we remember it. */
  last: string | undefined;
}>;

/** Shape: the folder, of which `.env` says that it stays. Errors: CONFIG_BAD_VALUE for a folder that is not there. */
export function settleWorkspace(wanted: Wanted, log: (line: string) => void): string {
  const { root, option, variable, cwd, resolved, last } = wanted;
  const named = option ?? variable;
  if (named !== undefined) {
    const folder = option === undefined ? resolve(root, expand(named)) : resolve(cwd, expand(named));
    assertFolder(folder, `mkdir -p ${quoted(folder)}`);
    return settle(root, folder, log);
  }
  if (last === undefined || last === resolved || hasSetting(root, "DEVBOX_WORKSPACE")) return resolved;
  assertFolder(last, `palace devbox up --workspace ${quoted(resolved)}`);
  return settle(root, last, log);
}

function settle(root: string, folder: string, log: (line: string) => void): string {
  if (writeSettings(root, { DEVBOX_WORKSPACE: folder })) log(`/workspace is ${folder}, from now on (written to .env)`);
  return folder;
}

/** Docker would make it, as root's. */
function assertFolder(folder: string, hint: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new PalaceError("CONFIG_BAD_VALUE", `the workspace ${folder} is no folder here; nothing was changed`, hint);
}

function expand(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
