/** Replaces the palace in use with one rename, so that its path always has a complete palace. Moves the old palace to another folder. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { faultPoint } from "../../base/fault-point.ts";
import { syncPath } from "../../base/folders.ts";
import { type PalaceError, unavailable } from "../../base/errors.ts";
import { type ChromaDatabase, chromaFile, readChroma, readCollections } from "../format/chroma-file.ts";
import { orElse } from "../../base/or-else.ts";

const KEPT = "before-";
const SEGMENT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const BUSY_TIMEOUT_MS = 5_000;
const SIDECARS = ["-journal", "-wal", "-shm"];

/** Returns the draft's folder. It is inside the palace's folder, because rename cannot move files between file systems. */
export function draftFolder(palaceDir: string, tag: string): string {
  return join(palaceDir, `.rebuild-${tag}`);
}

/** Removes what a killed rebuild left behind: its draft, and its incomplete copy of the old palace. */
export function tidy(palaceDir: string, tag: string): void {
  rmSync(draftFolder(palaceDir, tag), { recursive: true, force: true });
  const current = statSync(chromaFile(palaceDir), { throwIfNoEntry: false })?.ino;
  if (current === undefined) return;
  for (const name of keptFolders(palaceDir)) {
    const folder = join(palaceDir, name);
    // An equal inode means that the rebuild was killed before its rename: this database is only a hard link to the file in use.
    if (statSync(chromaFile(folder), { throwIfNoEntry: false })?.ino === current)
      rmSync(folder, { recursive: true, force: true });
  }
  const newest = keptFolders(palaceDir).at(-1);
  if (newest !== undefined) moveSegments(palaceDir, join(palaceDir, newest));
}

/** Replaces the palace in use. Returns the old palace's folder; undefined if the old palace was empty. Errors: STORE_UNAVAILABLE. */
export function swapIn(palaceDir: string, draft: string, why: string): string | undefined {
  const file = chromaFile(palaceDir);
  syncPath(chromaFile(draft));
  let kept: string | undefined;
  const isWorthKeeping = !isEmpty(palaceDir);
  if (existsSync(file)) {
    chmodSync(chromaFile(draft), statSync(file).mode & 0o777);
    const sidecars = quiesce(file);
    const stamp = new Date().toISOString().replace(/\..*/, "").replaceAll(/[-:]/g, "").replace("T", "-");
    kept = join(palaceDir, `${KEPT}${why}-${stamp}`);
    mkdirSync(kept, { mode: 0o700 });
    for (const suffix of sidecars) renameSync(`${file}${suffix}`, `${chromaFile(kept)}${suffix}`);
    keep(file, chromaFile(kept));
    syncPath(kept);
    syncPath(palaceDir);
    faultPoint("repair.after-keep");
  }
  renameSync(chromaFile(draft), file);
  syncPath(palaceDir);
  faultPoint("repair.after-swap");
  if (kept !== undefined) moveSegments(palaceDir, kept);
  faultPoint("repair.after-segments");
  rmSync(draft, { recursive: true, force: true });
  if (kept === undefined || isWorthKeeping) return kept;
  rmSync(kept, { recursive: true, force: true });
  return undefined;
}

/** Returns true if the palace has no rows, no index and an empty queue. Returns false for an unreadable palace. */
function isEmpty(palaceDir: string): boolean {
  try {
    if (readdirSync(palaceDir).some((name) => SEGMENT.test(name))) return false;
    const count = (database: ChromaDatabase): number | undefined =>
      database
        .prepare<[], number>("SELECT (SELECT count(*) FROM embeddings) + (SELECT count(*) FROM embeddings_queue)")
        .pluck()
        .get();
    return readChroma(palaceDir, BUSY_TIMEOUT_MS, count) === 0;
  } catch {
    return false;
  }
}

function keptFolders(palaceDir: string): string[] {
  if (!existsSync(palaceDir)) return [];
  return readdirSync(palaceDir)
    .filter((name) => name.startsWith(KEPT) && existsSync(chromaFile(join(palaceDir, name))))
    .sort((a, b) => mtime(join(palaceDir, a)) - mtime(join(palaceDir, b)));
}

function mtime(folder: string): number {
  return statSync(folder).mtimeMs;
}

/** Moves index folders that the palace no longer uses into `kept`, the folder of the old palace. */
function moveSegments(palaceDir: string, kept: string): void {
  const own = new Set(segmentsOf(palaceDir));
  // If the palace cannot be read, any folder may belong to it.
  if (own.size === 0) return;
  for (const entry of readdirSync(palaceDir, { withFileTypes: true }))
    if (entry.isDirectory() && SEGMENT.test(entry.name) && !own.has(entry.name))
      renameSync(join(palaceDir, entry.name), join(kept, entry.name));
}

function segmentsOf(palaceDir: string): string[] {
  return orElse(
    () => readChroma(palaceDir, BUSY_TIMEOUT_MS, readCollections)?.map(({ vectorSegment }) => vectorSegment) ?? [],
    [],
  );
}

/**
 * Moves the old write-ahead log into the old database file, because SQLite would apply that log to the new database. If that fails, returns
 * the suffixes of the files to move with the old database. Errors: STORE_UNAVAILABLE while another process uses the database.
 */
function quiesce(file: string): string[] {
  try {
    const database = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      // The transaction also rolls back the unfinished work of a crashed process.
      database.exec("BEGIN IMMEDIATE; ROLLBACK");
      database.pragma("wal_checkpoint(TRUNCATE)");
    } finally {
      database.close();
    }
  } catch (error) {
    if (/^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))) throw inUse(file);
    return SIDECARS.filter((suffix) => existsSync(`${file}${suffix}`));
  }
  if (["-journal", "-wal"].some((suffix) => (statSync(`${file}${suffix}`, { throwIfNoEntry: false })?.size ?? 0) > 0))
    throw inUse(file);
  return [];
}

function inUse(file: string): PalaceError {
  return unavailable(`another process is writing ${file}`, "end it and repeat the command");
}

/** Makes a hard link to the file, or a copy if the file system has no links. */
function keep(file: string, copy: string): void {
  try {
    linkSync(file, copy);
  } catch {
    copyFileSync(file, copy);
    syncPath(copy);
  }
}
