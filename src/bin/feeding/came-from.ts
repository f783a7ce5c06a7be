/** The files of this machine that drawers were made from, by their source_file: what the next mining would read. Used by traces.ts and `palace search`. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { extname, isAbsolute } from "node:path";
import type { Config } from "../../config/config.ts";
import { originalsOf, shownPath } from "../../feeder/doc-miner/filed-as.ts";
import { FORMATS_READ } from "../../feeder/format-miner/kinds.ts";
import { placeOf } from "./feeding.ts";

/** `searched`: to be looked through, files and folders. `listed`: those whose bytes do not tell. */
export type CameFrom = { searched: string[]; listed: string[] };

const OF_OPENCODE = /[\\/]mempalace-session[\\/][^\\/]+[\\/]opencode-[^\\/]+\.jsonl$/;

export function cameFrom(config: Config, sources: readonly string[]): CameFrom {
  const { opencodeDatabase, claudeCodeDir, piDir } = config.sessions;
  // A source without a whole path is a name, and no file of this folder.
  const files = sources.flatMap((source) => [source, ...originalsOf(source, placeOf(config))]).filter(isAbsolute);
  // Their text is compressed, or written in another way.
  const office = files.filter((file) => FORMATS_READ.has(extname(file).toLowerCase()));
  // A text that goes over several of its pages is not found, though the session is there.
  const databases = sources.some((source) => OF_OPENCODE.test(source)) ? [opencodeDatabase] : [];
  return {
    searched: [...files, opencodeDatabase, claudeCodeDir, piDir].filter(isAbsolute),
    listed: [...office, ...databases].filter((file) => existsSync(file)),
  };
}

/** A source as people know it: the path of the file from its project, or as they would type it here. */
export function shownSource(config: Config, source: string): string {
  return shownPath(source, { ...placeOf(config), cwd: process.cwd(), home: homedir() });
}
