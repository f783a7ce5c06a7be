/**
 * Asks the system whether this user may write to an existing path now; the file's mode does not show that. Returns false if the path does
 * not exist.
 */
import { accessSync, constants } from "node:fs";

export function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
