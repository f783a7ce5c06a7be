/** Lists a folder, sorted by code unit, so that the order is the same on every machine. */
import { type Dirent, readdirSync } from "node:fs";
import { orElse } from "./or-else.ts";

/** Returns the entries of a folder; undefined if the folder cannot be read. */
export function readFolder(path: string): Dirent[] | undefined {
  return orElse(() => readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)), undefined);
}

/** Returns the names in a folder; none if the folder cannot be read. */
export function namesIn(folder: string): string[] {
  return readFolder(folder)?.map(({ name }) => name) ?? [];
}
