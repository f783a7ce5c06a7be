/** Returns true if this user can write to the path. Returns false for a missing path or a read-only mount. */
import { accessSync, constants } from "node:fs";

export function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
