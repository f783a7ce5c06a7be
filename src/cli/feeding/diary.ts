/**
 * The diary of opencode, which has no hook of MemPalace's: when a session rests, it gets the checkpoint that such a hook
 * writes. Imported by verbs/hook.ts.
 */
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { wingOfFolder } from "../../feeders/doc-miner/project.ts";
import type { Block, Session } from "../../feeders/session-miner/session.ts";
import { CHECKPOINT_EVERY, countSinceLast, writeCheckpoint } from "../upstream/checkpoint.ts";
import { hear, sessionName, type Talk } from "../upstream/transcript.ts";
import { openSource } from "./session-source.ts";

/** Returns how many messages of the user the entry counted; undefined when none is due. Errors: the source's, the broker's. */
export async function diaryOfOpencode(config: Config, agent: string, id: string): Promise<number | undefined> {
  const source = await openSource("opencode", config, { path: undefined, includeSubagents: false });
  try {
    const head = source.list().find((one) => one.id === id);
    const session = head && source.read(head);
    if (session === undefined) return undefined;
    const talk = talkOf(session);
    const stateDir = join(config.paths.stateDir, "diary", config.paths.tag);
    const wing = `wing_${wingOfFolder(session.directory)}`;
    const checkpoint = { config, stateDir, agent, session: sessionName(id), wing };
    if (countSinceLast(checkpoint, talk) < CHECKPOINT_EVERY) return undefined;
    await writeCheckpoint(checkpoint, talk);
    return talk.count;
  } finally {
    source.close();
  }
}

/**
 * Collects the user's texts of a session. Skips turns older than the session: a fork copied them, and they were said in
 * the session that it continues.
 */
function talkOf({ directory, turns, createdMs }: Session): Talk {
  const talk: Talk = { count: 0, texts: [], cwd: directory };
  const own = turns.filter(({ role, atMs }) => role === "user" && !(atMs < createdMs));
  for (const { blocks } of own) hear(talk, textOf(blocks));
  return talk;
}

function textOf(blocks: readonly Block[]): string {
  return blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ");
}
