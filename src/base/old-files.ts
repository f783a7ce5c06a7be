/** Removes old files of agents' sessions from a folder. Skips files that it cannot remove. */
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

export function removeOld(
  folder: string,
  ageMaxMs: number,
  ending = "",
  isInUse: (file: string) => boolean = () => false,
): void {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(ending)) continue;
    const path = join(folder, name);
    try {
      if (Date.now() - statSync(path).mtimeMs > ageMaxMs && !isInUse(path)) rmSync(path, { force: true });
    } catch {
      // Another session has just removed the file.
    }
  }
}
