/** Runs `palace mine` for MemPalace's hook in a process that outlives the hook, one at a time for the same arguments (palace.md 8.3). */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Env } from "../../config/env.ts";
import { isAlive } from "../../base/alive.ts";
import { removeOld } from "../../base/old-files.ts";
import { HELD_MAX_MS, pidIn, takePidFile } from "../../base/pid-file.ts";

export type HookMine = { stateDir: string; logFile: string; env: Env; palace: readonly string[] };

/** Starts `palace mine` with `args`; returns false if the same command already runs. With `waitMs`, kills it after that time. */
export async function mineBeside(
  { stateDir, logFile, env, palace }: HookMine,
  args: readonly string[],
  waitMs?: number,
): Promise<boolean> {
  const slots = join(stateDir, "mine_pids");
  mkdirSync(slots, { recursive: true, mode: 0o700 });
  // A process that outlives its hook leaves its pid file. This call removes such files of ended processes.
  removeOld(slots, HELD_MAX_MS, ".pid", (file) => isAlive(pidIn(file)));
  const slot = join(slots, `mine_${createHash("sha256").update(args.join("\0")).digest("hex").slice(0, 16)}.pid`);
  const fd = takePidFile(slot);
  if (fd === undefined) return false;
  const log = openSync(logFile, "a", 0o600);
  try {
    const [command = "", ...first] = palace;
    const stdio = ["ignore", log, log] as const;
    const child = spawn(command, [...first, "mine", ...args, "--quiet"], {
      env,
      stdio: [...stdio],
      detached: true,
      cwd: "/",
    });
    // Writes pid 0 if the process did not start, so that its pid file does not block later calls.
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
