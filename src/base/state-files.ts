/** Files in the user's state folder with which clients and brokers inform each other about a palace. */
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
    throw writeFailure(paths.stateDir, cause);
  }
}

/** Returns the error for a failed write into `folder`: STORE_DISK_FULL or STORE_READ_ONLY. */
export function writeFailure(folder: string, cause: unknown): PalaceError {
  const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
  if (isDiskFull(cause))
    return new PalaceError("STORE_DISK_FULL", `the disk of ${folder} is full`, "free some space", { cause });
  return new PalaceError("STORE_READ_ONLY", `${folder} cannot be written (${code})`, "make it writable", { cause });
}

export function isDiskFull(error: unknown): boolean {
  return /^(ENOSPC|EDQUOT)$/.test((error as NodeJS.ErrnoException | null)?.code ?? "");
}

// --- `stopped`: the user stopped the broker, so clients do not start it ---

export function setStopped(paths: MarkPaths): void {
  put(paths, "stopped", { atMs: Date.now() });
}

export function isStopped(paths: MarkPaths): boolean {
  return existsSync(mark(paths, "stopped"));
}

export function clearStopped(paths: MarkPaths): void {
  rmSync(mark(paths, "stopped"), { force: true });
}

// --- `starting`: the client that makes this file starts a broker, and other clients wait for that broker ---

/** Makes `starting`; returns false if another client has it. Replaces a file that is older than `staleMs`, or as far in the future. */
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

/** Returns true if the file `starting` is too old: its client died while it started a broker. */
export function staleStart(paths: MarkPaths, staleMs: number): boolean {
  return existsSync(mark(paths, "starting")) && !isStarting(paths, staleMs);
}

export function dropStarting(paths: MarkPaths): void {
  rmSync(mark(paths, "starting"), { force: true });
}

/** Tells waiting clients why no broker will start. */
export function setFailed(paths: MarkPaths, error: PalaceError): void {
  put(paths, "failed", { message: error.message, ...error.toWire() });
}

export function clearFailed(paths: MarkPaths): void {
  rmSync(mark(paths, "failed"), { force: true });
}

export function readFailed(paths: MarkPaths): PalaceError | undefined {
  const { code, message, hint } = readRecord(mark(paths, "failed"));
  return isErrorCode(code) ? new PalaceError(code, String(message), String(hint)) : undefined;
}

// --- A permanent broker asks another broker to end. The file is in the palace's folder, which brokers in other containers see, too ---

/** Age after which a request has no effect. A waiting broker renews its request, so an old request is from a broker that gave up. */
const WANTED_MS = 5_000;

export function askToMakeWay(file: string): void {
  writeFileAtomic(file, `${process.pid}\n`);
}

export function isWanted(file: string): boolean {
  const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return since !== undefined && Math.abs(Date.now() - since) < WANTED_MS;
}

// --- `engine`: the last broker's engine ---

/** Stores the engine outside the palace: it may be a command, and a palace from someone else must not run commands here. */
export function rememberEngine(paths: MarkPaths, text: string | undefined): void {
  if (text === undefined) rmSync(mark(paths, "engine"), { force: true });
  else if (recallEngine(paths) !== text) put(paths, "engine", { engine: text });
}

/** Returns the last broker's `MEMPALACE_ENGINE`; undefined for the default engine. */
export function recallEngine(paths: MarkPaths): string | undefined {
  const { engine } = readRecord(mark(paths, "engine"));
  return typeof engine === "string" ? engine : undefined;
}

// --- `known`: the palace had a ledger ---

/** Name of a file that exists beside the ledger during a restore (memory/backup/swap.ts). */
export const RESTORE_MARKER = "restore.json";

/** Errors: STORE_DISK_FULL, STORE_READ_ONLY. */
export function rememberLedger(paths: MarkPaths): void {
  if (readRecord(mark(paths, "known"))["ledgerFile"] !== paths.ledgerFile)
    put(paths, "known", { ledgerFile: paths.ledgerFile });
}

/** Returns an error if the ledger has vanished, because only the user may begin a new palace then. */
export function vanishedPalace(paths: MarkPaths): PalaceError | undefined {
  // The record is read first: another process may be making the ledger, and remembers it afterwards.
  if (readRecord(mark(paths, "known"))["ledgerFile"] !== paths.ledgerFile) return undefined;
  // A restore takes the ledger away for a moment, so this looks twice. After a kill, the next process that locks the palace finishes it.
  const signs = [paths.ledgerFile, join(dirname(paths.ledgerFile), RESTORE_MARKER), paths.ledgerFile];
  return signs.some((file) => existsSync(file)) ? undefined : goneError(paths.ledgerFile);
}

export function goneError(ledgerFile: string): PalaceError {
  return new PalaceError(
    "PALACE_GONE",
    `the ledger ${ledgerFile} is gone`,
    "put its folder back (it was moved or deleted), then run `palace restart`; or begin an empty palace there: palace start --new",
  );
}
