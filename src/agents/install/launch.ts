/** Makes the commands by which an agent starts our programs, with absolute paths, because an agent's PATH may differ from the shell's. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { realPath } from "../../base/real-path.ts";
import { quoted } from "../../base/shell-word.ts";
import type { Launch } from "./agent-files.ts";

export type LaunchParts = {
  root: string;
  /** Path of the running Node program. */
  node: string;
  /** Folders of the PATH. */
  folders: readonly string[];
  /** `--palace DIR`, or empty. */
  palace: readonly string[];
};

/** Returns the commands for an agent's settings. In a clone, the launcher finds Node; otherwise the command contains Node's path. */
export function launchOf({ root, node, folders, palace }: LaunchParts): Launch {
  const launcher = join(root, "scripts/palace");
  const isClone = existsSync(launcher);
  const program = lastingName(node, folders);
  const shim: Launch["shim"] = isClone ? [launcher, "shim"] : [program, join(root, "dist/bin/mp-shim.cjs")];
  const command = isClone ? [launcher] : [program, join(root, "dist/bin/palace.js")];
  // Claude Code treats exit code 2 as a veto, so the command must always succeed.
  const hook = `${[...command, "hook", "claude-code", ...palace].map(quoted).join(" ")} || :`;
  return { shim: [...shim, ...palace], hook, extension: [...command, "hook", ...palace] };
}

/** Returns a path of Node that stays valid after an update, such as a package manager's link (/opt/homebrew/bin/node). */
function lastingName(node: string, folders: readonly string[]): string {
  const links = folders.filter((folder) => !isPassing(folder)).map((folder) => join(folder, "node"));
  return links.find((link) => realPath(link) === realPath(node)) ?? node;
}

/** Returns true for a folder that npx, npm's scripts or fnm add to the PATH of one shell only. */
function isPassing(folder: string): boolean {
  return /[\\/](?:node_modules[\\/]\.bin|_npx|fnm_multishells)(?:[\\/]|$)/.test(folder);
}
