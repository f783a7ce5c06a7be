/**
 * Note about a stack for the time when none of its containers is there to ask: its owner and its workspace. The note is
 * in our own state folder and never a label of a volume: compose offers to replace a volume by an empty one when its
 * labels change.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../base/atomic-file.ts";
import { isRecord } from "../base/is-record.ts";
import { unwritable } from "../base/state-files.ts";

export type Note = Readonly<{
  /** Folders whose stack it is: one, or those that share it on purpose. */
  folders: readonly string[];
  workspace: string;
  /** Id of the engine: another engine has stacks of its own. */
  engine: string;
}>;

/**
 * Returns the folder in which everything of one stack is kept. Project names are lower case letters, digits, - and _.
 */
export function stateFolder(stateDir: string, project: string): string {
  return join(stateDir, "devbox", project);
}

export function readNote(folder: string): Note | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, "stack.json"), "utf8"));
    if (!isRecord(value) || !Array.isArray(value["folders"])) return undefined;
    return {
      folders: value["folders"].map(String),
      workspace: String(value["workspace"] ?? ""),
      engine: String(value["engine"] ?? ""),
    };
  } catch {
    return undefined;
  }
}

/** Errors: STORE_DISK_FULL, STORE_READ_ONLY. */
export function writeState(folder: string, name: string, content: object): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileAtomic(join(folder, name), `${JSON.stringify(content)}\n`);
  } catch (cause) {
    throw unwritable(folder, cause);
  }
}

export function writeNote(folder: string, note: Note): void {
  writeState(folder, "stack.json", note);
}
