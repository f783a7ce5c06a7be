/** Reads MemPalace's own config.json, which may name another palace folder or collection. Source: palace.md 3.1 and 3.3. */
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { readRegularFile } from "../base/regular-file.ts";

/** Content of the file. `fault`: why an existing file counts as empty, in one sentence. */
export type UpstreamFile = Readonly<{ values: Readonly<Record<string, unknown>>; fault?: string }>;

const DRAWERS_COLLECTION = "mempalace_drawers";

/** Names that Chroma accepts for a collection, except the fixed name of the closets' collection. */
const COLLECTION = /^(?!mempalace_closets$)[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]$/;

/** Reads config.json. A file that is missing or not a JSON object counts as empty, as in upstream. `settingsDir` is upstream's home. */
export function readUpstreamFile(settingsDir: string): UpstreamFile {
  const empty = (why: string): UpstreamFile => ({ values: {}, fault: `config.json is not used: ${why}` });
  try {
    // Editors of other systems may write a byte order mark, which 3.11 skips.
    const text = readRegularFile(join(settingsDir, "config.json"))
      .toString("utf8")
      .replace(/^\uFEFF/, "");
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return empty("it has no JSON object");
    return { values: value as Record<string, unknown> };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? { values: {} } : empty((error as Error).message);
  }
}

export function namedCollection(settingsDir: string): string {
  const name = textOf(settingsDir, "collection_name");
  return COLLECTION.test(name) ? name : DRAWERS_COLLECTION;
}

/** Returns the absolute palace path in config.json. Its parent folder must exist, because the file may be from another machine. */
export function namedPalace(settingsDir: string, expand: (path: string) => string): string | undefined {
  const path = expand(textOf(settingsDir, "palace_path"));
  return isAbsolute(path) && (existsSync(path) || existsSync(dirname(path))) ? path : undefined;
}

function textOf(settingsDir: string, key: string): string {
  const value = readUpstreamFile(settingsDir).values[key];
  return typeof value === "string" ? value : "";
}
