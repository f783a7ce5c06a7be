/** Returns true if this user may write to an existing path, also considering read-only mounts. */
import { accessSync, constants } from "node:fs";

export function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
