/** Notes that nobody asks for any more. Used by what keeps a small file for each session of an agent. */
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Removes files of a folder that have this ending, were not written for `ageMaxMs` and are not in use. Files that
 * cannot be removed stay.
 */
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
      // Another session's clean-up was first.
    }
  }
}
