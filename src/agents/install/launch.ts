/**
 * Makes the commands by which an agent starts us. Agents run with another PATH than the shell that installs: one that was started
 * from a desktop, or under another Node of nvm, finds none of our names. So each command is a whole path. Imported by the verbs.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { realPath } from "../../base/real-path.ts";
import { quoted } from "../../base/shell-word.ts";
import type { Launch } from "./agent-files.ts";

export type LaunchParts = {
  /** The package's folder. */
  root: string;
  /** The Node that runs us. */
  node: string;
  /** The folders of PATH. */
  folders: readonly string[];
  /** `--palace DIR`, or empty. */
  palace: readonly string[];
};

/** A clone has launchers that find a Node; for an install both the Node and our file are named. */
export function launchOf({ root, node, folders, palace }: LaunchParts): Launch {
  const launcher = join(root, "scripts/palace");
  const isClone = existsSync(launcher);
  const program = lastingName(node, folders);
  const shim: Launch["shim"] = isClone ? [launcher, "shim"] : [program, join(root, "dist/bin/mp-shim.cjs")];
  const command = isClone ? [launcher] : [program, join(root, "dist/bin/palace.js")];
  // Claude Code takes an exit code of 2 for a veto: whatever befalls the command, it is none.
  const hook = `${[...command, "hook", "claude-code", ...palace].map(quoted).join(" ")} || :`;
  return { shim: [...shim, ...palace], hook, extension: [...command, "hook", ...palace] };
}

/**
 * Returns the name of a Node that outlasts its next update: a package manager's link (/opt/homebrew/bin/node) instead of the file
 * of one version behind it.
 */
function lastingName(node: string, folders: readonly string[]): string {
  const links = folders.filter((folder) => !isPassing(folder)).map((folder) => join(folder, "node"));
  return links.find((link) => realPath(link) === realPath(node)) ?? node;
}

/** npx, npm's scripts and fnm put folders on the PATH that are gone with the shell. */
function isPassing(folder: string): boolean {
  return /[\\/](?:node_modules[\\/]\.bin|_npx|fnm_multishells)(?:[\\/]|$)/.test(folder);
}
