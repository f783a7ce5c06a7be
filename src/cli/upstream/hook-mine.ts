/**
 * Mines what a hook points at, in a process that outlives the hook: one per set of arguments at a time, by a file with its
 * pid (palace.md 8.3, mine slots). Two at once would only waste time. Imported by hook.ts.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Env } from "../../config/env.ts";
import { isAlive } from "../../base/alive.ts";
import { removeOld } from "../../base/old-files.ts";
import { executable } from "../executable.ts";

const SLOT_MAX_S = 2 * 3600;
/** Far longer than the time between making a slot and writing the pid. */
const EMPTY_MAX_S = 10;

export type HookMine = { stateDir: string; logFile: string; env: Env };

/** Returns false when the same mine already runs. After `waitMs` the mine is ended; without it, it goes on by itself. */
export async function mineBeside(
  { stateDir, logFile, env }: HookMine,
  args: readonly string[],
  waitMs?: number,
): Promise<boolean> {
  const slots = join(stateDir, "mine_pids");
  mkdirSync(slots, { recursive: true, mode: 0o700 });
  // Each transcript has a slot of its own, which a mine that goes on by itself leaves behind. A MemPalace's may last longer.
  removeOld(slots, SLOT_MAX_S * 1000, ".pid", (file) => isAlive(readSlot(file).pid));
  const slot = join(slots, `mine_${createHash("sha256").update(args.join("\0")).digest("hex").slice(0, 16)}.pid`);
  const fd = take(slot);
  if (fd === undefined) return false;
  const log = openSync(logFile, "a", 0o600);
  try {
    const [command, file] = executable("palace");
    const stdio = ["ignore", log, log] as const;
    const child = spawn(command, [file, "mine", ...args, "--quiet"], {
      env,
      stdio: [...stdio],
      detached: true,
      cwd: "/",
    });
    // A process that did not start has no pid, and its slot is soon free again.
    child.on("error", () => {});
    writeSync(fd, `${child.pid ?? 0} ${Math.floor(Date.now() / 1000)}`);
    child.unref();
    if (waitMs === undefined) return true;
    const timer = setTimeout(() => child.kill(), waitMs);
    await new Promise((resolve) => child.once("exit", resolve).once("error", resolve));
    clearTimeout(timer);
    rmSync(slot, { force: true });
    return true;
  } finally {
    closeSync(fd);
    closeSync(log);
  }
}

/** Returns the slot's file, open and empty. A slot whose process is gone, or that is hours old, is free. */
function take(slot: string): number | undefined {
  for (const isRetry of [false, true]) {
    try {
      return openSync(slot, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (isRetry || isBusy(slot)) return undefined;
      rmSync(slot, { force: true });
    }
  }
  return undefined;
}

function readSlot(slot: string): { pid: number; startedAtS: number } {
  const [pid = 0, startedAtS = 0] = readFileSync(slot, "utf8").split(" ").map(Number);
  return { pid, startedAtS };
}

function isBusy(slot: string): boolean {
  const { pid, startedAtS } = readSlot(slot);
  // The slot was made just now and its pid follows, or its hook was killed in between.
  if (pid === 0) return Date.now() - statSync(slot).mtimeMs < EMPTY_MAX_S * 1000;
  return isAlive(pid) && Date.now() / 1000 - startedAtS < SLOT_MAX_S;
}
