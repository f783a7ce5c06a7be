/** Locates the settings of coding agents, by the agents' own rules. Pure. Used by config.ts. */
import { userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { type Env, readVariable } from "./env.ts";
import { piFolder } from "./pi-folder.ts";

export type AgentPlaces = Readonly<{
  /** Claude Code's folder, and the file beside it (or in it, where the folder was moved) that holds its MCP servers. */
  claudeDir: string;
  claudeFile: string;
  /** Folder of an administrator's settings for Claude Code. */
  claudeManagedDir: string;
  opencodeDir: string;
  piDir: string;
  /** The folders of PATH. */
  programFolders: readonly string[];
}>;

const MANAGED_MAC = "/Library/Application Support/ClaudeCode";

export function agentPlaces(env: Env): AgentPlaces {
  const user = readVariable(env, "HOME") ?? userInfo().homedir;
  const moved = readVariable(env, "CLAUDE_CONFIG_DIR");
  return Object.freeze({
    claudeDir: moved ?? join(user, ".claude"),
    claudeFile: join(moved ?? user, ".claude.json"),
    claudeManagedDir: process.platform === "darwin" ? MANAGED_MAC : "/etc/claude-code",
    opencodeDir: join(readVariable(env, "XDG_CONFIG_HOME") ?? join(user, ".config"), "opencode"),
    piDir: piFolder(env, user),
    programFolders: (readVariable(env, "PATH") ?? "").split(delimiter).filter(Boolean),
  });
}
