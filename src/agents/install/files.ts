/** Reads and writes files of other programs: checks that a file may be written, and keeps its mode and owner. */
import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ownership, writeFileAtomic, writeUserFile } from "../../base/atomic-file.ts";
import { readRegularFile } from "../../base/regular-file.ts";
import { writeFailure } from "../../base/state-files.ts";
import { badValue, PalaceError } from "../../base/errors.ts";

const BACKUP = ".palace-backup";
const WRITE_BITS = 0o222;

/** Returns a file's content; undefined if the file is missing. Errors: CONFIG_BAD_VALUE for a folder, pipe or unreadable file. */
export function contentOf(path: string): Buffer | undefined {
  try {
    return readRegularFile(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ENOTREG") throw badValue((cause as Error).message, `ls -l ${path}`);
    throw badValue(`${path} cannot be read (${code ?? ""})`, `ls -ld ${path}`, cause);
  }
}

/** Errors: CONFIG_BAD_VALUE, with line and column, if the content is not UTF-8. */
export function textOf(path: string, content: Buffer): string {
  const text = content.toString("utf8");
  if (Buffer.from(text).equals(content)) return text;
  const lines = content.toString("latin1").split("\n");
  const line = lines.findIndex((one) => !isUtf8(Buffer.from(one, "latin1")));
  const column =
    Buffer.from(lines[line] ?? "", "latin1")
      .toString("utf8")
      .indexOf("\uFFFD") + 1;
  const where = `line ${line + 1}, column ${column}`;
  throw badValue(`${path} is not UTF-8: ${where}`, "correct it, then run this again");
}

const isUtf8 = (bytes: Buffer): boolean => Buffer.from(bytes.toString("utf8")).equals(bytes);

/**
 * Refuses a read-only file, even for root, because its mode says that it must not change. `madeHint`: hint for a file that another program
 * generates (Nix, home-manager); chmod does not help there. Errors: STORE_READ_ONLY.
 */
export function assertWritable(path: string, target: string, madeHint: string): void {
  const mode = statSync(target, { throwIfNoEntry: false })?.mode;
  if (mode !== undefined && (mode & WRITE_BITS) === 0) {
    const isMade = (statSync(dirname(target)).mode & WRITE_BITS) === 0 || path !== target;
    const hint = isMade ? madeHint : `chmod u+w ${target}`;
    throw new PalaceError("STORE_READ_ONLY", `${target} is read-only: nothing was changed`, hint);
  }
  const folder = nearestFolder(dirname(target));
  for (const path of mode === undefined ? [folder] : [target, folder])
    try {
      accessSync(path, constants.W_OK);
    } catch (cause) {
      throw writeFailure(path, cause);
    }
}

/** Lists the folders to create for a file, outermost first. */
export function missingFolders(target: string): string[] {
  const missing: string[] = [];
  for (let at = dirname(target); !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at);
  return missing;
}

function nearestFolder(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestFolder(dirname(path));
}

/** Writes a file; `beforeRename` may throw to stop it. Errors: the error of `beforeRename`; STORE_DISK_FULL, STORE_READ_ONLY. */
export function putFile(target: string, content: Buffer, beforeRename: () => void = () => {}): void {
  let veto: unknown;
  try {
    mkdirSync(dirname(target), { recursive: true });
    writeUserFile(target, content, undefined, undefined, () => {
      try {
        beforeRename();
      } catch (error) {
        veto = error;
        throw error;
      }
    });
  } catch (cause) {
    if (cause === veto) throw cause;
    throw writeFailure(dirname(target), cause);
  }
}

/** Writes a backup beside the file and returns its path; undefined if a backup with this content exists. */
export function backUp(target: string, content: Buffer, nowMs: number): string | undefined {
  if (backupsWith(target, content).length > 0) return undefined;
  const time = new Date(nowMs)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replaceAll(":", "");
  let path = `${target}.${time}${BACKUP}`;
  for (let n = 2; existsSync(path); n += 1) path = `${target}.${time}-${n}${BACKUP}`;
  const { mode, owner } = ownership(target);
  try {
    writeFileAtomic(path, content, mode, owner);
  } catch (cause) {
    throw writeFailure(dirname(target), cause);
  }
  return path;
}

export function backupsWith(target: string, content: Buffer): string[] {
  const folder = dirname(target);
  const start = `${basename(target)}.`;
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names
    .filter((name) => name.startsWith(start) && name.endsWith(BACKUP))
    .map((name) => join(folder, name))
    .filter((path) => contentOf(path)?.equals(content) === true);
}
