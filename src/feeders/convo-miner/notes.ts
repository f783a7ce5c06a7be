/** Notes of the conversation miner: what it filed of each transcript, and where it stopped reading a long one. */
import { createHash } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { shortHash } from "../../base/staging.ts";
import { readRecord } from "../../base/parse-json.ts";
import type { NotedSource } from "../notes.ts";
import type { Checkpoint } from "./read.ts";

/** Digests of a source's first exchange and of the exchanges filed from it. */
export type Exchanges = { first: string; held: readonly string[] };

/** Notes about a source. `hashes`: one per conversation. `without`: sources from which its first exchanges were already filed. */
export type Entry = NotedSource & { hashes: string[]; exchanges?: Exchanges; without?: readonly string[] };

export type Notes = { schema: 1; files: Record<string, Entry> };

export type NotesPlace = { home: string; wing: string; root: string; palace: string };

/** Returns the notes' path. It depends on the palace, too, because one home directory may file into several. */
export function notesFile({ home, wing, root, palace }: NotesPlace): string {
  return join(home, ".manifest", wing, `${shortHash(root)}-${shortHash(palace)}.json`);
}

export function readCheckpoint(notesDir: string, path: string): Checkpoint | undefined {
  const found = readRecord(checkpointFile(notesDir, path));
  return found["schema"] === 2 ? (found as Checkpoint) : undefined;
}

/** Writes the checkpoint of a transcript, or removes it for undefined. */
export function writeCheckpoint(notesDir: string, path: string, checkpoint: Checkpoint | undefined): void {
  const file = checkpointFile(notesDir, path);
  if (checkpoint === undefined) {
    rmSync(file, { force: true });
    return;
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileAtomic(file, JSON.stringify(checkpoint));
}

function checkpointFile(notesDir: string, path: string): string {
  const tag = createHash("sha256").update(path).digest("hex").slice(0, 24);
  return join(notesDir, ".checkpoint", `${tag}.json`);
}
