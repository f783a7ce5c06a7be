/**
 * Hands a session over for filing: one process per session mines it (`palace mine sessions`, which files only what is new),
 * and a process that comes meanwhile leaves a mark, so that the end of a session that is being mined is not lost. Used by
 * `palace hook file`.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { isAlive } from "../base/alive.ts";

/** A process that has held a session for so long is no longer ours: its pid now belongs to another. */
const HELD_MAX_MS = 2 * 3_600_000;
/** Far longer than the time between creating the file and writing the holder's pid. */
const EMPTY_MAX_MS = 10_000;

export type Filing = {
  folder: string;
  harness: string;
  session: string;
  /** Files what is new in the session. Errors: whatever prevented it; the next hand-over tries again. */
  mine: () => Promise<void>;
};

/** Files a session. Resolves when all of it is filed, or at once if another process is filing it. Errors: those of `mine`. */
export async function fileSession({ folder, harness, session, mine }: Filing): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = createHash("sha256").update(`${harness}\0${session}`).digest("hex").slice(0, 32);
  const due = join(folder, `${name}.due`);
  const holder = join(folder, `${name}.pid`);
  writeFileSync(due, "", { mode: 0o600 });
  // The mark is checked again after the holder's file is gone, because it may come between the last check and the removal.
  while (existsSync(due) && take(holder)) {
    try {
      while (existsSync(due)) {
        rmSync(due, { force: true });
        await mine();
      }
    } finally {
      rmSync(holder, { force: true });
    }
  }
}

/** Returns false when a living process has it. */
function take(holder: string): boolean {
  for (const isRetry of [false, true]) {
    try {
      const file = openSync(holder, "wx", 0o600);
      writeSync(file, String(process.pid));
      closeSync(file);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (isRetry || isHeld(holder)) return false;
      rmSync(holder, { force: true });
    }
  }
  return false;
}

function isHeld(holder: string): boolean {
  try {
    const ageMs = Date.now() - statSync(holder).mtimeMs;
    const pid = Number(readFileSync(holder, "utf8"));
    return pid === 0 ? ageMs < EMPTY_MAX_MS : ageMs < HELD_MAX_MS && isAlive(pid);
  } catch {
    return false;
  }
}
