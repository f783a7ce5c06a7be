/**
 * Locates the sessions of coding agents, by the agents' own rules, and says which are filed. Pure. Used by config.ts. Source: harnesses.md 1.5, 2.2,
 * 3.4.
 */
import { userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { type Env, readVariable } from "./env.ts";
import { piFolder } from "./pi-folder.ts";

/** Sessions with fewer messages are left out unless somebody says otherwise. */
export const MESSAGES_MIN = 3;

export type SessionPlaces = Readonly<{ opencodeDatabase: string; claudeCodeDir: string; piDir: string }>;

export function sessionPlaces(env: Env): SessionPlaces {
  const user = readVariable(env, "HOME") ?? userInfo().homedir;
  const data = join(readVariable(env, "XDG_DATA_HOME") ?? join(user, ".local/share"), "opencode");
  const database = readVariable(env, "OPENCODE_DB") ?? "opencode.db";
  return Object.freeze({
    opencodeDatabase: isAbsolute(database) ? database : join(data, database),
    claudeCodeDir: join(readVariable(env, "CLAUDE_CONFIG_DIR") ?? join(user, ".claude"), "projects"),
    piDir: join(piFolder(env, user), "sessions"),
  });
}
