/** Detects agents by their program on the PATH or by their folder, without starting a process. */
import { accessSync, constants, existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readRecord } from "../../base/parse-json.ts";
import type { AgentPlaces } from "../../config/agents.ts";

/** `version` is undefined if only running the program would show it. */
export type Found = { program: string | undefined; version: string | undefined; hasFolder: boolean };

const PROGRAMS = { "claude-code": "claude", opencode: "opencode", pi: "pi" } as const;
/** Maximum number of folders between a package's package.json and its program. */
const PACKAGE_DEPTH = 5;
const PACKAGES = /^(?:opencode-\w|@(?:anthropic-ai\/claude-code|(?:earendil-works|mariozechner)\/pi-coding-agent))/;

export function findAgent(agent: keyof typeof PROGRAMS, places: AgentPlaces): Found {
  const folder = { "claude-code": places.claudeDir, opencode: places.opencodeDir, pi: places.piDir }[agent];
  const program = onPath(PROGRAMS[agent], places.programFolders);
  const hasFolder = existsSync(folder) || (agent === "claude-code" && existsSync(places.claudeFile));
  return { program, version: program === undefined ? undefined : versionOf(program), hasFolder };
}

export function onPath(name: string, folders: readonly string[]): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Reads the version from the program's package, or from its file name (Claude Code's installer: versions/2.1.330). */
function versionOf(program: string): string | undefined {
  const file = realpathSync(program);
  if (/^\d+\.\d+\.\d+/.test(basename(file))) return basename(file);
  let folder = dirname(file);
  for (let depth = 0; depth < PACKAGE_DEPTH; depth += 1, folder = dirname(folder)) {
    const { name, version } = readRecord(join(folder, "package.json"));
    if (typeof name === "string" && PACKAGES.test(name) && typeof version === "string") return version;
  }
  return undefined;
}
