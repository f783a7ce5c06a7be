/** Lists a folder in the same order on every machine. */
import { type Dirent, readdirSync } from "node:fs";

/** By code unit; undefined for a folder that cannot be read. */
export function readFolder(path: string): Dirent[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return undefined;
  }
}
