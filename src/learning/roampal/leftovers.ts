/** Removes folders that killed commands left behind. The name of such a folder contains the id of its command's process. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../base/alive.ts";

/** Removes leftover folders, except folders of other users. `start`: the part of the folders' names before the process id. */
export function removeLeftovers(folder: string, start: string): void {
  for (const name of readdirSync(folder)) {
    const pid = name.startsWith(start) ? /^\d+/.exec(name.slice(start.length))?.[0] : undefined;
    if (pid === undefined || isAlive(Number(pid))) continue;
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {
      // Ignores the error: in a shared folder, the leftover may belong to another user.
    }
  }
}
