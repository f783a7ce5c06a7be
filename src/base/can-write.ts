/** Asks the system whether a place may be written, which no mode alone tells. */
import { accessSync, constants } from "node:fs";

/** Returns true if this user may write to an existing path now; false if the path does not exist. */
export function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
