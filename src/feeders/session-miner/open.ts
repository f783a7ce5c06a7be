/** Opens an agent's sessions, in the folder or database from the settings or from the user. */
import { join, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { wingOfFolder } from "../../base/project-names.ts";
import { projectFolder } from "../../base/worktree.ts";
import { openClaudeCode } from "./claude-code.ts";
import { openOpencode } from "./opencode.ts";
import { openPi } from "./pi.ts";
import type { HarnessName, SessionSource } from "./session.ts";
import { stageHome } from "./staging-area.ts";

type From = { path: string | undefined; includeSubagents: boolean };

/** Errors: FEEDER_SOURCE_UNREADABLE. */
export async function openSource(
  harness: HarnessName,
  { sessions, paths }: Config,
  { path, includeSubagents }: From = { path: undefined, includeSubagents: false },
): Promise<SessionSource> {
  const given = path === undefined ? undefined : resolve(path);
  if (harness === "claude-code") return openClaudeCode(given ?? sessions.claudeCodeDir, includeSubagents);
  if (harness === "pi") return openPi(given ?? sessions.piDir);
  const scratch = join(stageHome(paths.cacheDir), ".scratch");
  return openOpencode({ file: given ?? sessions.opencodeDatabase, scratch, includeSubagents });
}

/** Returns the wing and the user's messages of an opencode session; undefined for a deleted session. Errors: FEEDER_SOURCE_UNREADABLE. */
export async function saidInOpencode(
  config: Config,
  id: string,
): Promise<{ texts: string[]; wing: string } | undefined> {
  const source = await openSource("opencode", config);
  try {
    const head = source.list().find((one) => one.id === id);
    const session = head && source.read(head);
    if (session === undefined) return undefined;
    // A turn that is older than its session was copied by a fork.
    const own = session.turns.filter(({ role, atMs }) => role === "user" && !(atMs < session.createdMs));
    const texts = own.map(({ blocks }) =>
      blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" "),
    );
    return { texts, wing: wingOfFolder(projectFolder(session.directory)) };
  } finally {
    source.close();
  }
}
