/**
 * Implements `palace hook file`: files the new part of a session, in one process per session. Each process first writes a file (the mark),
 * so that the running process, or the next one after a kill, also files that session.
 */
import { createHash } from "node:crypto";
import { closeSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { removeLeftovers, writeFileAtomic } from "../../base/atomic-file.ts";
import { PalaceError } from "../../base/errors.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { removeOld } from "../../base/old-files.ts";
import { readRecord } from "../../base/parse-json.ts";
import { takePidFile } from "../../base/pid-file.ts";
import { CHECKPOINT_EVERY, countSinceLast, writeCheckpoint } from "./checkpoint.ts";
import { saveSettings } from "./save-settings.ts";
import type { Scene, Values } from "./scene.ts";
import { hear, sessionName, type Talk } from "./talk.ts";

/** Age, ms, after which a mark (the file that says that a session is due) is deleted, because the palace is probably unused. */
const MARK_MAX_MS = 30 * 24 * 3_600_000;
/** Maximum number of retries after a kill or a temporary error. A session that always runs out of memory must not be retried forever. */
const TRIES_MAX = 3;
/** Ending of a mark's file name until the work begins; then `DOING`. */
const DUE = ".due";
const DOING = ".doing";

/** Content of a mark. `home`: the palace's folder. `places`: folders with agents' sessions, as JSON. */
type Mark = Readonly<Record<"from" | "session" | "agent" | "home" | "places", string>>;

/** Thrown by `mineSession` if a signal interrupted it before the session was filed. */
export class Interrupted extends Error {}

/** Files a session, then the sessions that earlier processes left. Never throws: it logs errors, and the next call tries again. */
export async function fileHook(scene: Scene, { from = "", session = "" }: Values): Promise<void> {
  const { config, agent, log, host } = scene;
  if (session === "" || !host.hasPalace(config) || !saveSettings(config).autoSave) return;
  const folder = join(config.paths.stateDir, "filing");
  const mark: Mark = { from, session, agent, home: config.paths.home, places: JSON.stringify(config.sessions) };
  const name = createHash("sha256").update(`${from}\0${mark.home}\0${session}`).digest("hex").slice(0, 32);
  try {
    // Lowers this process's priority, so that the agent's own turn goes first.
    setPriority(10);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileAtomic(join(folder, `${name}${DUE}`), JSON.stringify(mark));
    faultPoint("filing.marked");
    await fileMarked(scene, join(folder, name), mark);
    for (const [path, left] of leftMarks(folder, mark))
      if (path !== join(folder, name)) await fileMarked(scene, path, left);
  } catch (error) {
    log(`${from} ${session} is not filed: ${String(error)}`);
  }
}

/** Files the session of a mark, unless another process does. Throws only Interrupted; logs other errors. */
async function fileMarked(scene: Scene, path: string, { from, session, agent }: Mark): Promise<void> {
  const { config, log, host } = scene;
  try {
    await oneAtATime(path, async () => {
      await host.mineSession(config, from, session);
      faultPoint("filing.filed");
      if (from === "opencode") await keepDiary({ ...scene, agent }, session);
    });
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    log(`${from} ${session} is not filed: ${String(error)}`);
  }
}

/** Returns the marks in `folder` that have the same palace and session folders as the given mark. Also deletes old files. */
function leftMarks(folder: string, { home, places }: Mark): Map<string, Mark> {
  removeLeftovers(folder);
  removeOld(folder, MARK_MAX_MS);
  const files = readdirSync(folder).filter((name) => name.endsWith(DUE) || name.endsWith(DOING));
  const marks = files.map((name): [string, Record<string, unknown>] => [
    join(folder, name.slice(0, name.lastIndexOf("."))),
    readRecord(join(folder, name)),
  ]);
  const isOurs = (one: [string, Record<string, unknown>]): one is [string, Mark] =>
    isMark(one[1]) && one[1].home === home && one[1].places === places;
  return new Map(marks.filter(isOurs));
}

function isMark(mark: Record<string, unknown>): mark is Mark {
  const { from, session, agent } = mark;
  return [from, session, agent].every((field) => typeof field === "string");
}

/** Runs `work` until the session has no mark. Throws `work`'s errors; temporary errors keep the mark. Returns if another process works. */
async function oneAtATime(path: string, work: () => Promise<void>): Promise<void> {
  const [due, doing, holder] = [`${path}${DUE}`, `${path}${DOING}`, `${path}.pid`];
  const isMarked = (): boolean => existsSync(due) || existsSync(doing);
  // Looks for a mark again after removing the pid file: another process that wrote a mark just before has seen the pid file and returned.
  while (isMarked()) {
    const file = takePidFile(holder);
    if (file === undefined) return;
    faultPoint("filing.taken");
    writeSync(file, String(process.pid));
    closeSync(file);
    faultPoint("filing.held");
    try {
      while (isMarked()) {
        // A mark that appears during the work is named `.due`, so the removal of `.doing` below keeps it.
        if (existsSync(due)) renameSync(due, doing);
        else countTry(doing);
        faultPoint("filing.begun");
        await work().catch((error: unknown) => {
          if (error instanceof Interrupted || isPassing(error)) throw error;
          rmSync(doing, { force: true });
          if (!existsSync(due)) throw error;
        });
        rmSync(doing, { force: true });
      }
      faultPoint("filing.done");
    } finally {
      rmSync(holder, { force: true });
    }
  }
}

/** Returns true if a later try may succeed, for example after no broker answered. */
function isPassing(error: unknown): boolean {
  return error instanceof PalaceError && !/^(?:FEEDER|CONFIG)_/.test(error.code);
}

/** Counts a retry in the mark. After TRIES_MAX retries, removes the mark and throws. */
function countTry(doing: string): void {
  const mark = readRecord(doing);
  const tries = Number(mark["tries"] ?? 0) + 1;
  if (tries <= TRIES_MAX) return writeFileAtomic(doing, JSON.stringify({ ...mark, tries }));
  rmSync(doing, { force: true });
  throw new Error(`${TRIES_MAX} more tries failed`);
}

/** Writes the checkpoint for opencode, which does not run MemPalace's hook. Never throws, because the session is already filed. */
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
