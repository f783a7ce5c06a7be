/** Removes the temporary folders of killed commands. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../base/alive.ts";

/** Removes the folders whose process has ended. `start`: prefix of the folders' names, before the process id. */
export function removeLeftovers(folder: string, start: string): void {
  for (const name of readdirSync(folder)) {
    const pid = name.startsWith(start) ? /^\d+/.exec(name.slice(start.length))?.[0] : undefined;
    if (pid === undefined || isAlive(Number(pid))) continue;
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {
      // In a shared folder, another user may own this leftover.
    }
  }
}
