/** Manages the session miner's transcripts, `<cache>/mempalace-session/<wing>/`, and the notes about them. */
import { mkdirSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { shortHash } from "../../base/staging.ts";
import { readText } from "../notes.ts";

const FOLDER = "mempalace-session";

/** Note about a session: its state when it was last read. */
export type Staged = {
  version: string;
  messages: number;
  wing: string;
  /** File name of the transcript; "" if the session has too few messages for one. */
  file: string;
  /** Time of the last turn, ms since the epoch. Older notes lack it. */
  lastMs?: number;
  /** Id of the first turn, which all forks share. Older notes lack it. */
  first?: string;
  /** Sessions whose transcripts have this fork's copied turns. This session's transcript does not have them. */
  without?: readonly string[];
  /** Version of each session in `without`. Only for pi, whose sessions may abandon copied turns. */
  read?: Readonly<Record<string, string>>;
};

export type StageNotes = { schema: 1; sessions: Record<string, Staged> };

export function stageHome(cacheDir: string): string {
  return join(dirname(cacheDir), FOLDER);
}

export function stagedPath(home: string, wing: string, file: string): string {
  return join(home, wing, file);
}

/** Returns a staged transcript's path on this machine, so that a host and its containers file a session only once. */
export function stagedHere(home: string, sourceFile: string): string | undefined {
  const parts = sourceFile.split("/");
  const [folder, wing = "", file = ""] = parts.slice(-3);
  return folder === FOLDER && file.endsWith(".jsonl") ? stagedPath(home, wing, file) : undefined;
}

/** Writes a transcript unless it has this content already, and sets the file's time to `updatedMs`. */
export function stageTranscript(path: string, content: string, updatedMs: number): void {
  const seconds = Number.isFinite(updatedMs) ? Math.max(updatedMs, 0) / 1000 : 0;
  if (readText(path) !== content) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileAtomic(path, content);
  }
  const { mtimeMs } = statSync(path);
  if (Math.abs(mtimeMs / 1000 - seconds) > 0.001) utimesSync(path, seconds, seconds);
}

/** Returns the path of the notes about a harness's sessions. If this file is missing, a run reads every session again. */
export function notesPath(home: string, harness: string, place: string): string {
  return join(home, ".manifest", `${harness}-${shortHash(place)}.json`);
}
