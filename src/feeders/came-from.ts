/** Finds the files on this machine from which drawers were made, and formats their paths for users. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { extname, isAbsolute } from "node:path";
import type { Config } from "../config/config.ts";
import { originalsOf, shownPath } from "./doc-miner/filed-as.ts";
import { FORMATS_READ } from "./format-miner/kinds.ts";

/** Files that may contain an erased text. The caller searches the bytes of `searched`; such a search can miss the text in `listed`. */
export type CameFrom = { searched: string[]; listed: string[] };

const OF_OPENCODE = /[\\/]mempalace-session[\\/][^\\/]+[\\/]opencode-[^\\/]+\.jsonl$/;

/** Returns the cache folder, and the palace's name in this cache: the broker's address, or the folder of the palace. */
export function placeOf(config: Config): { cacheDir: string; palace: string } {
  return { cacheDir: config.paths.cacheDir, palace: config.endpoint ?? config.paths.home };
}

export function cameFrom(config: Config, sources: readonly string[]): CameFrom {
  const { opencodeDatabase, claudeCodeDir, piDir } = config.sessions;
  // A source that is not an absolute path is only a name.
  const files = sources.flatMap((source) => [source, ...originalsOf(source, placeOf(config))]).filter(isAbsolute);
  // Office documents contain their text compressed or encoded, so a search of their bytes misses it.
  const office = files.filter((file) => FORMATS_READ.has(extname(file).toLowerCase()));
  // A search of the bytes misses a text that spans several database pages, so the databases are listed too.
  const databases = sources.some((source) => OF_OPENCODE.test(source)) ? [opencodeDatabase] : [];
  return {
    searched: [...files, opencodeDatabase, claudeCodeDir, piDir].filter(isAbsolute),
    listed: [...office, ...databases].filter((file) => existsSync(file)),
  };
}

/** Formats a source as users know it: the path within its project, or the path that they would type in the current folder. */
export function shownSource(config: Config, source: string): string {
  return shownPath(source, { ...placeOf(config), cwd: process.cwd(), home: homedir() });
}

/** Returns `shownSource` with a cache, for lists that repeat the same sources. */
export function sourcesShown(config: Config): (source: string) => string {
  const shown = new Map<string, string>();
  return (source) => {
    const known = shown.get(source) ?? shownSource(config, source);
    shown.set(source, known);
    return known;
  };
}
