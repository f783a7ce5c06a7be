/** Finds the settings and sessions of coding agents by the agents' own rules. Source: harnesses.md 1.5, 2.2, 3.4. */
import { userInfo } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { type Env, readVariable } from "./env.ts";

export type AgentPlaces = ReturnType<typeof agentPlaces>;

const MANAGED_MAC: string = "/Library/Application Support/ClaudeCode";

export function agentPlaces(env: Env) {
  const user = userHome(env);
  const moved = readVariable(env, "CLAUDE_CONFIG_DIR");
  return Object.freeze({
    claudeDir: claudeFolder(env, user),
    /** Claude Code's file of MCP servers: beside `claudeDir`, or in it if CLAUDE_CONFIG_DIR names the folder. */
    claudeFile: join(moved ?? user, ".claude.json"),
    /** Folder with an administrator's settings for Claude Code. */
    claudeManagedDir: process.platform === "darwin" ? MANAGED_MAC : "/etc/claude-code",
    opencodeDir: join(readVariable(env, "XDG_CONFIG_HOME") ?? join(user, ".config"), "opencode"),
    piDir: piFolder(env, user),
    programFolders: (readVariable(env, "PATH") ?? "").split(delimiter).filter(Boolean),
  });
}

export function sessionPlaces(env: Env) {
  const user = userHome(env);
  const data = join(readVariable(env, "XDG_DATA_HOME") ?? join(user, ".local/share"), "opencode");
  const database = readVariable(env, "OPENCODE_DB") ?? "opencode.db";
  return Object.freeze({
    opencodeDatabase: isAbsolute(database) ? database : join(data, database),
    claudeCodeDir: join(claudeFolder(env, user), "projects"),
    piDir: join(piFolder(env, user), "sessions"),
  });
}

/** Finds Roampal's folders. Source: outcome-memory.md 4.2; roampal 0.6.0, `_config_dir` in its profile_manager.py. */
export function roampalPlaces(env: Env) {
  const home = readVariable(env, "HOME") ?? "";
  const isMac = process.platform === "darwin";
  const config = isMac
    ? `${home}/Library/Application Support/Roampal`
    : `${readVariable(env, "XDG_CONFIG_HOME") ?? `${home}/.config`}/roampal`;
  const data = isMac ? `${config}/data` : `${home}/.local/share/roampal/data`;
  return {
    /** Roampal's data folder, which may not exist. */
    roampalDir: readVariable(env, "ROAMPAL_DATA_PATH") ?? data,
    roampalSettings: config,
  };
}

/** Returns pi's folder. The home `user` replaces a leading `~` in pi's variable, as in pi. */
export function piFolder(env: Env, user: string): string {
  const folder = readVariable(env, "PI_CODING_AGENT_DIR") ?? "~/.pi/agent";
  return folder === "~" || folder.startsWith("~/") ? `${user}${folder.slice(1)}` : folder;
}

function claudeFolder(env: Env, user: string): string {
  return readVariable(env, "CLAUDE_CONFIG_DIR") ?? join(user, ".claude");
}

function userHome(env: Env): string {
  return readVariable(env, "HOME") ?? userInfo().homedir;
}
