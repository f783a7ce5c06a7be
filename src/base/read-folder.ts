/** Lists a folder, sorted by code unit, so that the order is the same on every machine. Returns undefined if the folder cannot be read. */
import { type Dirent, readdirSync } from "node:fs";

export function readFolder(path: string): Dirent[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return undefined;
  }
}

/** Returns the names in a folder, in any order; none if the folder cannot be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
