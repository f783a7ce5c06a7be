/** Writes the user's last messages into the agent's diary after every `CHECKPOINT_EVERY` messages (palace.md 8.3). */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { withClient } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { removeOld } from "../../base/old-files.ts";
import { checkpointOf, type Talk } from "./talk.ts";
import { orElse } from "../../base/or-else.ts";

export const CHECKPOINT_EVERY = 15;

/** Time after a session's last entry at which its count of messages is deleted, ms. The session then counts from zero. */
const COUNT_KEPT_MS = 90 * 24 * 3_600_000;
const COUNT_ENDING = "_last_save";

/** Maximum time to write an entry, ms. Agents give a stop hook 30 s. */
const DIARY_MAX_MS = 20_000;

export type Checkpoint = {
  config: Config;
  /** Folder with one file per session: the number of messages at the last entry. */
  stateDir: string;
  /** Owner of the diary. */
  agent: string;
  /** Id of the session, without characters that are unsafe in a file name. */
  session: string;
  wing: string;
};

export function countSinceLast({ stateDir, session }: Checkpoint, { count }: Talk): number {
  return orElse(
    () => count - Math.max(0, Number.parseInt(readFileSync(countFile(stateDir, session), "utf8"), 10) || 0),
    count,
  );
}

export function noteCount({ stateDir, session }: Checkpoint, { count }: Talk): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileAtomic(countFile(stateDir, session), String(count));
  removeOld(stateDir, COUNT_KEPT_MS, COUNT_ENDING);
}

/** Writes an entry, then the count. After a kill in between, the next run sends the entry again with the same key, which has no effect. */
export async function writeCheckpoint(checkpoint: Checkpoint, talk: Talk): Promise<void> {
  const { config, agent, session, wing } = checkpoint;
  const entry = checkpointOf(session, talk, localTime().slice(0, 10));
  const args = { agent_name: agent, entry, topic: "checkpoint", wing };
  const options = { key: `hook-${session}-${talk.count}`, timeoutMs: DIARY_MAX_MS };
  const said = (await withClient({ config, agent: `mempalace hook (${agent})`, start: "auto" }, (client) =>
    client.callTool("mempalace_diary_write", args, options),
  )) as { success?: boolean; error?: string };
  if (said.success === false) throw new Error(said.error ?? "the checkpoint was refused");
  noteCount(checkpoint, talk);
}

function countFile(stateDir: string, session: string): string {
  return join(stateDir, `${session}${COUNT_ENDING}`);
}

/** Formats local time without a zone, as Python prints it. */
export function localTime(): string {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}
