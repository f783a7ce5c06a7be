/** Ends a resident, for a set-up that replaces it and for the removal. */
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tryFlock } from "../platform/libc.ts";
import { type BridgePaths, readState } from "./settings.ts";

const END_MAX_MS = 5_000;
const POLL_MS = 20;

/**
 * Returns when none runs. Who holds the lock is the one that wrote the state, so its pid is believed while the lock is held;
 * nobody dials the socket for it, because each connection there makes the host start something.
 */
export async function endBridge(paths: BridgePaths): Promise<void> {
  const pid = readState(paths)?.pid;
  if (pid === undefined || !isHeld(paths)) return;
  process.kill(pid, "SIGTERM");
  for (const deadline = performance.now() + END_MAX_MS; performance.now() < deadline && isHeld(paths);)
    await sleep(POLL_MS);
}

function isHeld({ bridgeDir }: BridgePaths): boolean {
  const file = join(bridgeDir, "lock");
  if (!existsSync(file)) return false;
  const lock = openSync(file, "a");
  try {
    return !tryFlock(lock);
  } finally {
    closeSync(lock);
  }
}
