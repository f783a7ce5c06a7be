/**
 * What MemPalace's own config.json says of where its palace is: users have moved it, or called its collection otherwise. Read,
 * never written. Used by paths.ts and config.ts. Source: palace.md 3.1 and 3.3.
 */
import { existsSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { readUpstreamFile } from "./upstream-file.ts";

export const DRAWERS_COLLECTION = "mempalace_drawers";

/** Chroma takes no other names. The closets' is fixed, in every palace. */
const COLLECTION = /^(?!mempalace_closets$)[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]$/;

/** `settingsDir` is upstream's home. */
export function namedCollection(settingsDir: string): string {
  const name = setting(settingsDir, "collection_name");
  return name !== undefined && COLLECTION.test(name) ? name : DRAWERS_COLLECTION;
}

/**
 * The palace that config.json names, absolute. Undefined where it names none, or one that can be neither found nor made: settings
 * that came along from another machine say nothing of this one.
 */
export function namedPalace(settingsDir: string, expand: (path: string) => string): string | undefined {
  const path = expand(setting(settingsDir, "palace_path") ?? "");
  return isAbsolute(path) && (existsSync(path) || existsSync(dirname(path))) ? path : undefined;
}

function setting(settingsDir: string, key: string): string | undefined {
  const value = readUpstreamFile(settingsDir)[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}
