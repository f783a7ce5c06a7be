/** Lists folders, sorted by code unit so that every machine has the same order. */
import { type Dirent, readdirSync } from "node:fs";
import { orElse } from "./or-else.ts";

/** Returns undefined if the folder cannot be read. */
export function readFolder(path: string): Dirent[] | undefined {
  return orElse(() => readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)), undefined);
}

/** Returns no names if the folder cannot be read. */
export function namesIn(folder: string): string[] {
  return readFolder(folder)?.map(({ name }) => name) ?? [];
}
