/** Ends a bridge's resident, before a set-up or a removal of the bridge. */
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tryFlock } from "../../base/libc.ts";
import type { BridgePaths } from "./settings.ts";

const END_MAX_MS = 5_000;
const POLL_MS = 20;

/** Ends the resident if one is running. Resolves when it has exited, or after END_MAX_MS. */
export async function endBridge(paths: BridgePaths): Promise<void> {
  let asked = 0;
  for (const deadline = performance.now() + END_MAX_MS; performance.now() < deadline; await sleep(POLL_MS)) {
    const pid = holderOf(paths);
    if (pid === undefined) return;
    if (pid === 0 || pid === asked) continue;
    asked = pid;
    terminate(pid);
  }
}

/** Returns the running resident's pid from its lock file, or 0 before the pid is written. Undefined: no resident holds the lock. */
function holderOf({ bridgeDir }: BridgePaths): number | undefined {
  const file = join(bridgeDir, "lock");
  if (!existsSync(file)) return undefined;
  const lock = openSync(file, "a");
  try {
    return tryFlock(lock) ? undefined : Number(/^\d+$/.exec(readFileSync(file, "utf8"))?.[0] ?? 0);
  } finally {
    closeSync(lock);
  }
}

function terminate(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch (error) {
    // The process has already exited.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
