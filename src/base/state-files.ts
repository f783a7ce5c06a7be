/**
 * Small files in the user's state folder that outlive a broker and its palace: that a ledger existed, which engine serves
 * it, that the broker was stopped by hand, that one is being started, why the last start failed. Client and broker both
 * read and write them.
 */
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { readRecord } from "./parse-json.ts";
import { isErrorCode, PalaceError } from "./errors.ts";
import { writeFileAtomic } from "./atomic-file.ts";
import { keepFolder } from "./folders.ts";

export type MarkPaths = { stateDir: string; tag: string; ledgerFile: string };

type MarkName = "stopped" | "starting" | "failed" | "known" | "engine";

function mark({ stateDir, tag }: MarkPaths, name: MarkName): string {
  return join(stateDir, `${tag}.${name}`);
}

function put(paths: MarkPaths, name: MarkName, content: object): void {
  try {
    keepFolder(paths.stateDir);
    writeFileAtomic(mark(paths, name), `${JSON.stringify(content)}\n`);
  } catch (cause) {
    throw unwritable(paths.stateDir, cause);
  }
}

/** Errors of a state folder that accepts no file: STORE_DISK_FULL, STORE_READ_ONLY. */
export function unwritable(folder: string, cause: unknown): PalaceError {
  const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
  if (isDiskFull(cause))
    return new PalaceError("STORE_DISK_FULL", `the disk of ${folder} is full`, "free some space", { cause });
  return new PalaceError("STORE_READ_ONLY", `${folder} cannot be written (${code})`, "make it writable", { cause });
}

/** True for the error of a disk, or of a user's share of it, that has no space left. */
export function isDiskFull(error: unknown): boolean {
  return /^(ENOSPC|EDQUOT)$/.test((error as NodeJS.ErrnoException | null)?.code ?? "");
}

// --- the sticky stop ---

export function setStopped(paths: MarkPaths): void {
  put(paths, "stopped", { atMs: Date.now() });
}

export function isStopped(paths: MarkPaths): boolean {
  return existsSync(mark(paths, "stopped"));
}

export function clearStopped(paths: MarkPaths): void {
  rmSync(mark(paths, "stopped"), { force: true });
}

// --- starting: the client that gets the file starts a broker, the others wait for it ---

/** `staleMs`: a file older than that (or from the future: clocks are stepped) was left by a client that died. */
export function takeStarting(paths: MarkPaths, staleMs: number): boolean {
  const file = mark(paths, "starting");
  mkdirSync(paths.stateDir, { recursive: true, mode: 0o700 });
  const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Math.abs(Date.now() - since) > staleMs) rmSync(file, { force: true });
  try {
    closeSync(openSync(file, "wx", 0o600));
    clearFailed(paths);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

export function isStarting(paths: MarkPaths, staleMs: number): boolean {
  const since = statSync(mark(paths, "starting"), { throwIfNoEntry: false })?.mtimeMs;
  return since !== undefined && Math.abs(Date.now() - since) <= staleMs;
}

/** Left by a client that died. */
export function staleStart(paths: MarkPaths, staleMs: number): boolean {
  return existsSync(mark(paths, "starting")) && !isStarting(paths, staleMs);
}

export function dropStarting(paths: MarkPaths): void {
  rmSync(mark(paths, "starting"), { force: true });
}

/** Tells waiting clients why there will be no broker. */
export function setFailed(paths: MarkPaths, error: PalaceError): void {
  put(paths, "failed", { message: error.message, ...error.toWire() });
}

/** Forgets the failure of an earlier start: its cause may be removed. */
export function clearFailed(paths: MarkPaths): void {
  rmSync(mark(paths, "failed"), { force: true });
}

export function readFailed(paths: MarkPaths): PalaceError | undefined {
  const { code, message, hint } = readRecord(mark(paths, "failed"));
  return isErrorCode(code) ? new PalaceError(code, String(message), String(hint)) : undefined;
}

// --- a broker that is meant to stay wants the palace; the file is in the palace's own folder, for brokers of other
// containers ---

/** Renewed while it waits: an old file was left by a broker that gave up. */
const WANTED_MS = 5_000;

export function askToMakeWay(file: string): void {
  writeFileAtomic(file, `${process.pid}\n`);
}

export function isWanted(file: string): boolean {
  const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return since !== undefined && Math.abs(Date.now() - since) < WANTED_MS;
}

// --- the engine that served the palace last ---

/**
 * Kept in the user's own state folder, not beside the palace: it is a command that is run, and a palace may come from
 * elsewhere.
 */
export function rememberEngine(paths: MarkPaths, text: string | undefined): void {
  if (text === undefined) rmSync(mark(paths, "engine"), { force: true });
  else if (recallEngine(paths) !== text) put(paths, "engine", { engine: text });
}

/** The last broker's `MEMPALACE_ENGINE`, unless that was the default. */
export function recallEngine(paths: MarkPaths): string | undefined {
  const { engine } = readRecord(mark(paths, "engine"));
  return typeof engine === "string" ? engine : undefined;
}

// --- a ledger existed here ---

/** Beside the ledger while a restore exchanges it (memory/backup/swap.ts). */
export const RESTORE_MARKER = "restore.json";

/** Errors: STORE_DISK_FULL, STORE_READ_ONLY. */
export function rememberLedger(paths: MarkPaths): void {
  if (readRecord(mark(paths, "known"))["ledgerFile"] !== paths.ledgerFile)
    put(paths, "known", { ledgerFile: paths.ledgerFile });
}

/** The error for a palace that existed and is gone: it is never started again without the user's consent. */
export function vanishedPalace(paths: MarkPaths): PalaceError | undefined {
  // Between two moves of a restore there is none: who has the lock next finishes it.
  if (existsSync(join(dirname(paths.ledgerFile), RESTORE_MARKER))) return undefined;
  if (existsSync(paths.ledgerFile) || readRecord(mark(paths, "known"))["ledgerFile"] !== paths.ledgerFile)
    return undefined;
  return goneError(paths.ledgerFile);
}

export function goneError(ledgerFile: string): PalaceError {
  return new PalaceError(
    "PALACE_GONE",
    `the ledger ${ledgerFile} is gone`,
    "put its folder back (it was moved or deleted), then run `palace restart`; or begin an empty palace there: palace start --new",
  );
}
