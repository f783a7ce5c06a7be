/** Opens the sessions of an agent where its settings, or the user, say they are. Imported by verbs/sessions.ts and diary.ts. */
import { join, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { openClaudeCode } from "../../feeders/session-miner/claude-code.ts";
import { openOpencode } from "../../feeders/session-miner/opencode.ts";
import { openPi } from "../../feeders/session-miner/pi.ts";
import type { HarnessName, SessionSource } from "../../feeders/session-miner/session.ts";
import { stageHome } from "../../feeders/session-miner/staging-area.ts";

/** Errors: FEEDER_SOURCE_UNREADABLE. */
export async function openSource(
  harness: HarnessName,
  { sessions, paths }: Config,
  { path, includeSubagents }: { path: string | undefined; includeSubagents: boolean },
): Promise<SessionSource> {
  const given = path === undefined ? undefined : resolve(path);
  if (harness === "claude-code") return openClaudeCode(given ?? sessions.claudeCodeDir, includeSubagents);
  if (harness === "pi") return openPi(given ?? sessions.piDir);
  const scratch = join(stageHome(paths.cacheDir), ".scratch");
  return openOpencode({ file: given ?? sessions.opencodeDatabase, scratch, includeSubagents });
}
