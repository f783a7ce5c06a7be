/**
 * Stores a stack's owner and workspace in our state folder. Volume labels do not work for this: when a label changes, compose offers to
 * replace the volume with an empty one.
 */
import { mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../base/atomic-file.ts";
import { wrongUsage } from "../base/errors.ts";
import { tryFlock } from "../base/libc.ts";
import { orElse } from "../base/or-else.ts";
import { readRecord } from "../base/parse-json.ts";
import { writeFailure } from "../base/state-files.ts";

export type Note = Readonly<{
  /** Folders that use this stack. Several folders share a stack only if the user allowed it. */
  folders: readonly string[];
  workspace: string;
  /** Id of the Docker daemon; each daemon has its own stacks. */
  engine: string;
}>;

/** Returns the folder with our state about one stack. It needs no escaping: project names have only lower case letters, digits, - and _. */
export function stateFolder(stateDir: string, project: string): string {
  return join(stateDir, "devbox", project);
}

/** Locks the stack until this process ends. Two processes would undo each other's steps. Errors: CONFIG_USAGE if another one has the lock. */
export function lockStack(folder: string): void {
  const lock = (): boolean => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return tryFlock(openSync(join(folder, "lock"), "a", 0o600));
  };
  if (orElse(lock, true)) return;
  throw wrongUsage(
    "another palace devbox command works on this stack; nothing was changed",
    "wait until it ends, or end it; then type the same command again",
  );
}

export function readNote(folder: string): Note | undefined {
  const { folders, workspace = "", engine = "" } = readRecord(join(folder, "stack.json"));
  if (!Array.isArray(folders)) return undefined;
  return { folders: folders.map(String), workspace: String(workspace), engine: String(engine) };
}

/** Writes a state file. Errors: STORE_DISK_FULL, STORE_READ_ONLY. */
export function writeState(folder: string, name: string, content: object): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileAtomic(join(folder, name), `${JSON.stringify(content)}\n`);
  } catch (cause) {
    throw writeFailure(folder, cause);
  }
}

export function writeNote(folder: string, note: Note): void {
  writeState(folder, "stack.json", note);
}
