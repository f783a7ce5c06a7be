/**
 * Hands a session over for filing: one process a session mines it (`palace mine sessions`, which files only what is new), and who comes
 * meanwhile leaves a mark for it, so that the end of a session that is being mined is not lost. Used by `palace hook file`.
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
import { isAlive } from "../platform/alive.ts";

/** A process that has a session for so long is none of ours any more: its number is another's. */
const HELD_MAX_MS = 2 * 3_600_000;
/** Between making the file and writing who has it. */
const EMPTY_MAX_MS = 10_000;

export type Filing = {
  folder: string;
  harness: string;
  session: string;
  /** Files what is new in the session. Errors: whatever kept it from that; the next hand-over tries again. */
  mine: () => Promise<void>;
};

/** Resolves when nothing is left to do, at once where another process has the session. Errors: those of `mine`. */
export async function fileSession({ folder, harness, session, mine }: Filing): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = createHash("sha256").update(`${harness}\0${session}`).digest("hex").slice(0, 32);
  const due = join(folder, `${name}.due`);
  const holder = join(folder, `${name}.pid`);
  writeFileSync(due, "", { mode: 0o600 });
  // Looked at again after the holder's file is gone: a mark may come between the last look and that.
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

/** False: a living process has it. */
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
