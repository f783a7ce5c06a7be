/**
 * The conversation miner's notes between runs: the state of each transcript when it was filed, and where the reading of
 * long ones stopped. They are hints: losing them costs only reading. Used by feed.ts and file.ts.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import type { Checkpoint } from "./read.ts";

export type Entry = {
  mtime: number;
  size: number;
  /** Digest of the source as the broker has it; "" if it is not filed. */
  sha256: string;
  drawers: number;
  /** SHA-256 of each conversation in it. */
  hashes: string[];
  /** The reason why it is not filed. */
  refused?: string;
};

export type Notes = { schema: 1; files: Record<string, Entry> };

export type NotesPlace = { home: string; wing: string; root: string; palace: string };

/** One file a folder, wing and palace: several palaces may be fed from one home. */
export function notesFile({ home, wing, root, palace }: NotesPlace): string {
  return join(home, ".manifest", wing, `${tag(root, 8)}-${tag(palace, 8)}.json`);
}

export function readNotes(file: string): Notes {
  const found = readJson(file) as Partial<Notes> | undefined;
  const isUsable = found?.schema === 1 && typeof found.files === "object";
  return isUsable ? (found as Notes) : { schema: 1, files: {} };
}

/** Writes nothing when nothing changed. */
export function writeNotes(file: string, notes: Notes): void {
  const content = `${JSON.stringify(notes)}\n`;
  if (existsSync(file) && readFileSync(file, "utf8") === content) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileAtomic(file, content);
}

export function readCheckpoint(notesDir: string, path: string): Checkpoint | undefined {
  const found = readJson(checkpointFile(notesDir, path)) as Checkpoint | undefined;
  return found?.schema === 1 ? found : undefined;
}

/** Undefined removes the checkpoint. */
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
  return join(notesDir, ".checkpoint", `${tag(path, 24)}.json`);
}

function tag(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
