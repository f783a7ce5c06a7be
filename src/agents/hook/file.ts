/**
 * Implements `palace hook file`, which files a session. One process per session runs `palace mine sessions`, which files only the new part.
 * A process that starts meanwhile leaves a mark, so that the session's end is not lost.
 */
import { createHash } from "node:crypto";
import { closeSync, existsSync, mkdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { takePidFile } from "../../base/pid-file.ts";
import { CHECKPOINT_EVERY, countSinceLast, writeCheckpoint } from "./checkpoint.ts";
import { saveSettings } from "./save-settings.ts";
import type { Scene, Values } from "./scene.ts";
import { hear, sessionName, type Talk } from "./talk.ts";

/** Files a session. Never throws: the next call tries again. */
export async function fileHook(scene: Scene, { from = "", session = "" }: Values): Promise<void> {
  const { config, log, host } = scene;
  if (session === "" || !host.hasPalace(config) || !saveSettings(config).autoSave) return;
  const folder = join(config.paths.stateDir, "filing");
  const name = createHash("sha256").update(`${from}\0${config.paths.home}\0${session}`).digest("hex").slice(0, 32);
  try {
    // Lowers this process's priority, so that the agent's own turn goes first.
    setPriority(10);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await oneAtATime(join(folder, name), async () => {
      await host.mineSession(config, from, session);
      if (from === "opencode") await keepDiary(scene, session);
    });
  } catch (error) {
    log(`${from} ${session} is not filed; the next run tries again: ${String(error)}`);
  }
}

/** Repeats the work while other processes ask for it, also after an error; returns at once if another does it. Errors: the last run's. */
async function oneAtATime(path: string, work: () => Promise<void>): Promise<void> {
  const [due, holder] = [`${path}.due`, `${path}.pid`];
  writeFileSync(due, "", { mode: 0o600 });
  // Checks the mark again after removing the holder's file: the mark may appear between the last check and the removal.
  while (existsSync(due)) {
    const file = takePidFile(holder);
    if (file === undefined) return;
    writeSync(file, String(process.pid));
    closeSync(file);
    try {
      while (existsSync(due)) {
        rmSync(due, { force: true });
        await work().catch((error: unknown) => {
          if (!existsSync(due)) throw error;
        });
      }
    } finally {
      rmSync(holder, { force: true });
    }
  }
}

/**
 * Writes the checkpoint for opencode, which has no MemPalace hook. (In pi the user asks for an entry.) Never throws, because the session is
 * already filed.
 */
async function keepDiary({ config, agent, log, host }: Scene, id: string): Promise<void> {
  try {
    const said = await host.saidInOpencode(config, id);
    if (said === undefined) return;
    const talk: Talk = { count: 0, texts: [], cwd: undefined };
    for (const text of said.texts) hear(talk, text);
    const stateDir = join(config.paths.stateDir, "diary", config.paths.tag);
    const checkpoint = { config, stateDir, agent, session: sessionName(id), wing: `wing_${said.wing}` };
    if (countSinceLast(checkpoint, talk) < CHECKPOINT_EVERY) return;
    await writeCheckpoint(checkpoint, talk);
    log(`opencode ${id}: after ${talk.count} messages, an entry in the diary of ${agent}`);
  } catch (error) {
    log(`opencode ${id}: no entry in the diary of ${agent}; the next run tries again: ${String(error)}`);
  }
}
