/** Removes folders of killed commands: a folder made for one command has the number of its process in its name. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../base/alive.ts";

/** Removes leftover folders, except folders of other users. `start`: the folders' names up to the number of the process. */
export function removeLeftovers(folder: string, start: string): void {
  for (const name of readdirSync(folder)) {
    const pid = name.startsWith(start) ? /^\d+/.exec(name.slice(start.length))?.[0] : undefined;
    if (pid === undefined || isAlive(Number(pid))) continue;
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {
      // In a shared folder, the leftover may belong to another user.
    }
  }
}
