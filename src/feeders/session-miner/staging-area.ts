/** Manages the session miner's transcripts, `<cache>/mempalace-session/<wing>/`, and the notes about them. */
import { mkdirSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { shortHash } from "../../base/staging.ts";
import { readText } from "../notes.ts";

const FOLDER = "mempalace-session";

/** A session's state when it was last examined. */
export type Staged = {
  version: string;
  messages: number;
  wing: string;
  /** Name of the transcript; "" if none was written because of too few messages. */
  file: string;
  /** Time of the session's last turn, ms since the epoch. Older notes do not have it. */
  lastMs?: number;
  /** Id of the session's first turn, which a fork also has. Older notes do not have it. */
  first?: string;
  /** Sessions from which this session was forked. Turns that were staged with them are not in this session's transcript. */
  without?: readonly string[];
  /** Versions of the sessions in `without`, if these sessions may abandon the copied turns. */
  read?: Readonly<Record<string, string>>;
};

export type StageNotes = { schema: 1; sessions: Record<string, Staged> };

export function stageHome(cacheDir: string): string {
  return join(dirname(cacheDir), FOLDER);
}

export function stagedPath(home: string, wing: string, file: string): string {
  return join(home, wing, file);
}

/** Returns the local path of a transcript that was staged on host or in container, so that its session is filed once. */
export function stagedHere(home: string, sourceFile: string): string | undefined {
  const parts = sourceFile.split("/");
  const [folder, wing = "", file = ""] = parts.slice(-3);
  return folder === FOLDER && file.endsWith(".jsonl") ? stagedPath(home, wing, file) : undefined;
}

/** Writes a transcript, unless the file already has this content. */
export function stageTranscript(path: string, content: string, updatedMs: number): void {
  const seconds = Number.isFinite(updatedMs) ? Math.max(updatedMs, 0) / 1000 : 0;
  if (readText(path) !== content) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileAtomic(path, content);
  }
  const { mtimeMs } = statSync(path);
  if (Math.abs(mtimeMs / 1000 - seconds) > 0.001) utimesSync(path, seconds, seconds);
}

/** Returns the path of the notes. If they are lost, every session is read again. */
export function notesPath(home: string, harness: string, place: string): string {
  return join(home, ".manifest", `${harness}-${shortHash(place)}.json`);
}
