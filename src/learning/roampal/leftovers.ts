/** Folders that are made for one command alone, and have its process in their names: the next command removes those of killed ones. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../base/alive.ts";

/** `start`: of the names, up to the number of the process. Somebody else's are left. */
export function removeLeftovers(folder: string, start: string): void {
  for (const name of readdirSync(folder)) {
    const pid = name.startsWith(start) ? /^\d+/.exec(name.slice(start.length))?.[0] : undefined;
    if (pid === undefined || isAlive(Number(pid))) continue;
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {
      // Another user's, in a folder for all.
    }
  }
}
