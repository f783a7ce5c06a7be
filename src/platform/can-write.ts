/** Asks the system whether a place may be written, which no mode alone tells. */
import { accessSync, constants } from "node:fs";

/** True when this user may write there now; false also where nothing is there. */
export function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
