/**
 * Reads from MemPalace's own config.json where its palace is, since users may move it or rename its collection; never
 * writes it. Used by paths.ts and config.ts. Source: palace.md 3.1 and 3.3.
 */
import { existsSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { readUpstreamFile } from "./upstream-file.ts";

const DRAWERS_COLLECTION = "mempalace_drawers";

/** Chroma accepts no other names. The closets' name is fixed in every palace. */
const COLLECTION = /^(?!mempalace_closets$)[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]$/;

/** `settingsDir` is upstream's home. */
export function namedCollection(settingsDir: string): string {
  const name = setting(settingsDir, "collection_name");
  return name !== undefined && COLLECTION.test(name) ? name : DRAWERS_COLLECTION;
}

/**
 * Returns the absolute path of the palace that config.json names; undefined when it names none, or one that neither exists
 * nor can be made: settings copied from another machine say nothing about this one.
 */
export function namedPalace(settingsDir: string, expand: (path: string) => string): string | undefined {
  const path = expand(setting(settingsDir, "palace_path") ?? "");
  return isAbsolute(path) && (existsSync(path) || existsSync(dirname(path))) ? path : undefined;
}

function setting(settingsDir: string, key: string): string | undefined {
  const value = readUpstreamFile(settingsDir)[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}
