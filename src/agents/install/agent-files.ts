/** Lists the agents that we can wire, and the files of each (docs/how-to/agents.md). */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentPlaces } from "../../config/agents.ts";
import { findAgent } from "./detect.ts";
import { Draft, valueOf } from "./draft.ts";
import { contentOf, textOf } from "./files.ts";
import type { Want } from "./wire-entries.ts";

/** Events at which Claude Code runs `palace hook claude-code`. */
const HOOK_EVENTS = ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"];
/** Timeout of a hook. Without it, Claude Code cancels a SessionEnd hook after 1.5 s. */
const HOOK_TIMEOUT_S = 10;

export const AGENTS = ["claude-code", "opencode", "pi"] as const;
export type AgentName = (typeof AGENTS)[number];

/** Command lines: `shim` starts the shim, `hook` is for Claude Code's hooks, and an extension runs `extension` with a hook's name. */
export type Launch = { shim: readonly [string, ...string[]]; hook: string; extension: readonly string[] };

export type Row =
  /** The agent's own file, into which we merge an entry. `fresh`: the initial text of a new file. */
  | { kind: "merge"; path: string; want: Want; fresh: string; note?: string | undefined }
  /** A file that is entirely ours: a copy from the package. A seed is written once and then belongs to the agent. */
  | { kind: "own" | "seed"; path: string; content: Buffer }
  | { kind: "folder"; path: string }
  | { kind: "skip"; path: string; note: string };

/** `shipped`: the package's folder with the files to copy. */
export type RowParts = { places: AgentPlaces; launch: Launch; shipped: string };

const MISSING = "not in this package; in a clone: npm run build";
const SERVER = "mempalace";
/** Permission rule for all tools of our server. Without this rule, a headless Claude Code refuses every call. */
const CLAUDE_TOOLS = `mcp__${SERVER}`;
const OPENCODE_NEW = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n';
const UNSURE = "the version of opencode is unknown: this is the form of opencode 1, which opencode 2 reads too";
const PLUGIN = { "@opencode-ai/plugin": "*" };

export function configFile(agent: AgentName, places: AgentPlaces): string {
  if (agent === "claude-code") return places.claudeFile;
  return agent === "pi" ? join(places.piDir, "mcp.json") : opencodeFile(places);
}

/** Returns the settings file. If both exist, opencode.jsonc counts, because opencode reads it last. */
function opencodeFile({ opencodeDir }: AgentPlaces): string {
  const withComments = join(opencodeDir, "opencode.jsonc");
  return existsSync(withComments) ? withComments : join(opencodeDir, "opencode.json");
}

/** Returns opencode's major version; undefined if unknown, because opencode's own installer does not write the version into a file. */
export function opencodeGeneration(places: AgentPlaces): 1 | 2 | undefined {
  const { version = "" } = findAgent("opencode", places);
  if (/^1\./.test(version)) return 1;
  if (/^(?:[2-9]|\d\d+)\./.test(version)) return 2;
  return hasSecondForm(opencodeFile(places)) ? 2 : undefined;
}

/** Returns true for settings that only opencode 2 has: `mcp.servers` as an object, or the list `plugins`. */
function hasSecondForm(path: string): boolean {
  try {
    const content = contentOf(path);
    const root = content === undefined ? undefined : new Draft(path, textOf(path, content)).root();
    const servers = valueOf(valueOf(root, "mcp"), "servers");
    const isServer = valueOf(servers, "type")?.type === "string";
    return (servers?.type === "object" && !isServer) || valueOf(root, "plugins")?.type === "array";
  } catch {
    // Skips an unreadable file. The plan reports it.
    return false;
  }
}

/** Returns the agent's name, and for opencode also the generation if it is known. */
export function labelOf(agent: AgentName, places: AgentPlaces): string {
  const generation = agent === "opencode" ? opencodeGeneration(places) : undefined;
  return generation === undefined ? agent : `${agent} ${generation}`;
}

export function rowsOf(agent: AgentName, parts: RowParts): Row[] {
  const { places, shipped } = parts;
  switch (agent) {
    case "claude-code":
      return [...claudeRows(parts), ...skillRows(shipped, join(places.claudeDir, "skills"))];
    case "opencode": {
      const plugin = extensionRow(parts, "opencode/palace.js", join(places.opencodeDir, "plugins/palace.js"));
      const generation = opencodeGeneration(places);
      return [
        opencodeRow(opencodeFile(places), parts.launch, generation),
        ...(plugin.kind === "own" && generation !== 2 ? seedRows(places.opencodeDir) : []),
        plugin,
        ...skillRows(shipped, join(places.opencodeDir, "skills")),
      ];
    }
    case "pi": {
      const [command, ...args] = parts.launch.shim;
      // Without "direct", a model sees a single tool that takes JavaScript instead of our tools.
      const value = { command, args, exposure: "direct" };
      return [
        merge(join(places.piDir, "mcp.json"), { kind: "entry", keys: ["mcpServers", SERVER], value }),
        extensionRow(parts, "pi/palace.js", join(places.piDir, "extensions/palace.js")),
        ...skillRows(shipped, join(places.piDir, "skills")),
      ];
    }
  }
}

/** Lists the settings file that opencode used at an earlier install, because it may still contain our entries. */
export function formerRows(agent: AgentName, { places, launch }: RowParts): Row[] {
  if (agent !== "opencode") return [];
  const now = opencodeFile(places);
  const both = ["opencode.json", "opencode.jsonc"].map((name) => join(places.opencodeDir, name));
  return both.filter((path) => path !== now).map((path) => opencodeRow(path, launch, opencodeGeneration(places)));
}

function folderOf(agent: AgentName, places: AgentPlaces): string {
  return { "claude-code": places.claudeDir, opencode: places.opencodeDir, pi: places.piDir }[agent];
}

/** Returns true for a file of this profile. An agent may have several profiles, each with its own settings folder. */
export function isOfProfile(agent: AgentName, places: AgentPlaces, path: string): boolean {
  const folder = folderOf(agent, places);
  return path === folder || path.startsWith(`${folder}/`) || (agent === "claude-code" && path === places.claudeFile);
}

/** Returns the settings folders of the profiles to which these files belong. */
export function profilesOf(agent: AgentName, paths: readonly string[]): string[] {
  const ends = { "claude-code": /\/settings\.json$/, opencode: /\/opencode\.jsonc?$/, pi: /\/mcp\.json$/ }[agent];
  return [...new Set(paths.filter((path) => ends.test(path)).map((path) => dirname(path)))];
}

function claudeRows({ places, launch }: RowParts): Row[] {
  const [command, ...args] = launch.shim;
  // `claude mcp add-json --scope user` writes the same entry. Without alwaysLoad, a model must search for the tools.
  const value = { type: "stdio", command, args, alwaysLoad: true };
  const hook = { type: "command", command: launch.hook, timeout: HOOK_TIMEOUT_S };
  return [
    merge(places.claudeFile, { kind: "entry", keys: ["mcpServers", SERVER], value }),
    merge(join(places.claudeDir, "settings.json"), { kind: "hooks", events: HOOK_EVENTS, hook, allow: [CLAUDE_TOOLS] }),
  ];
}

function opencodeRow(path: string, { shim }: Launch, generation: 1 | 2 | undefined): Row {
  // With Code Mode, a model of opencode 2 sees a single tool that takes JavaScript instead of our tools.
  const second = { type: "local", command: shim, disabled: false, codemode: false };
  if (generation === 2)
    return merge(path, { kind: "entry", keys: ["mcp", "servers", SERVER], value: second }, OPENCODE_NEW);
  const first = { type: "local", command: shim, enabled: true };
  const row = merge(path, { kind: "entry", keys: ["mcp", SERVER], value: first }, OPENCODE_NEW);
  return generation === undefined ? { ...row, note: UNSURE } : row;
}

function merge(path: string, want: Want, fresh = ""): Extract<Row, { kind: "merge" }> {
  return { kind: "merge", path, want, fresh };
}

function copyRow(from: string, path: string): Row {
  const content = contentOf(from);
  if (content === undefined) return { kind: "skip", path, note: MISSING };
  return { kind: "own", path, content };
}

/** The extension's file begins with the commands that start our programs, because the agent's PATH may not have our programs. */
function extensionRow({ shipped, launch: { extension, shim } }: RowParts, name: string, path: string): Row {
  const row = copyRow(join(shipped, name), path);
  if (row.kind !== "own") return row;
  const launch = `const PALACE_LAUNCH = ${JSON.stringify({ hook: extension, shim })};\n`;
  return { ...row, content: Buffer.concat([Buffer.from(launch), row.content]) };
}

function skillRows(shipped: string, to: string): Row[] {
  const folder = join(shipped, "skills");
  const names = existsSync(folder) ? readdirSync(folder).sort() : [];
  const skills = names.filter((name) => existsSync(join(folder, name, "SKILL.md")));
  if (skills.length === 0) return [{ kind: "skip", path: to, note: MISSING }];
  return skills.map((name) => copyRow(join(folder, name, "SKILL.md"), join(to, name, "SKILL.md")));
}

/**
 * Lists files with which opencode skips the install of its plugin package at start, which takes over a minute without a network. A folder
 * with its own packages does not get these files, because opencode would then not install the folder's packages.
 */
function seedRows(folder: string): Row[] {
  const packages = join(folder, "node_modules");
  const seeds = [
    { path: join(folder, "package.json"), value: { dependencies: PLUGIN } },
    {
      path: join(folder, "package-lock.json"),
      value: { lockfileVersion: 3, packages: { "": { dependencies: PLUGIN } } },
    },
  ].map(({ path, value }) => ({ path, content: Buffer.from(`${JSON.stringify(value, null, 2)}\n`) }));
  const isOwn = seeds.some(({ path, content }) => contentOf(path)?.equals(content) === false);
  if (isOwn || (existsSync(packages) && readdirSync(packages).length > 0)) return [];
  return [{ kind: "folder", path: packages }, ...seeds.map((seed): Row => ({ kind: "seed", ...seed }))];
}
