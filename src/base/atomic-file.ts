/** Writes small files atomically: a reader sees the old or the new content, never a mixture. */
import {
  closeSync,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { badValue } from "./errors.ts";
import { faultPoint } from "./fault-point.ts";
import { syncFile, syncPath } from "./folders.ts";
import { orElse } from "./or-else.ts";

const TEMPORARY = /\.\d+\.tmp$/;
/** Age above which a temporary file is a killed writer's leftover. Its pid proves nothing: the pid may be from another container. */
const LEFTOVER_AGE_MS = 3_600_000;

export type Owner = { uid: number; gid: number };

/** Replaces a file atomically and syncs it. The umask limits `mode` unless `owner` is given. `beforeRename` may throw to cancel. */
export function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
  owner?: Owner,
  beforeRename: () => void = () => {},
): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = openSync(temporary, "w", mode);
    try {
      faultPoint("file.before-write");
      // When the disk becomes full, `writeSync` may write only a part and return. `writeFileSync` writes all or throws.
      writeFileSync(file, content);
      if (owner !== undefined) {
        fchownSync(file, owner.uid, owner.gid);
        fchmodSync(file, mode);
      }
      faultPoint("file.before-sync");
      syncFile(file);
    } finally {
      closeSync(file);
    }
    faultPoint("file.before-rename");
    beforeRename();
    renameSync(temporary, path);
    faultPoint("file.after-rename");
  } catch (error) {
    rmSync(temporary, { force: true });
    // Adds the path, which Node's error of a failed write does not have.
    throw Object.assign(error as NodeJS.ErrnoException, { path });
  }
  syncPath(dirname(path));
}

/** Maximum number of links to follow, as in Linux. */
const LINKS_MAX = 40;

/** Follows symbolic links, also to a target that does not exist yet. Errors: CONFIG_BAD_VALUE for a cycle of links. */
export function targetOf(path: string): string {
  let target = path;
  for (let links = 0; links < LINKS_MAX; links += 1) {
    if (lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return target;
    // A relative link starts at the real path of its folder.
    const link = readlinkSync(target);
    target = isAbsolute(link) ? link : `${realpathSync.native(dirname(target))}/${link}`;
  }
  throw badValue(`${path} is a link that leads to itself`, `ls -l ${path}`);
}

/**
 * Writes a file of the user as `writeFileAtomic` does. A symbolic link stays, and its target gets the content, because dotfile managers
 * make such links. Without `mode`, the file keeps its mode and owner. Errors: CONFIG_BAD_VALUE for a cycle of links or a path that is not
 * a file; file system errors.
 */
export function writeUserFile(
  path: string,
  content: string | Uint8Array,
  mode?: number,
  owner?: Owner,
  beforeRename?: () => void,
): void {
  const target = targetOf(path);
  if (statSync(target, { throwIfNoEntry: false })?.isFile() === false)
    throw badValue(`${path} is not a file`, `ls -l ${path}`);
  const kept = mode === undefined ? ownership(target) : { mode, owner };
  try {
    writeFileAtomic(target, content, kept.mode, kept.owner, beforeRename);
  } catch (error) {
    // EBUSY: the file itself is a mount point, as in a container that mounts a single file, and nothing can replace it.
    if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
    writeInPlace(target, content);
  }
}

/** Returns the mode and owner for a new version of `file`: those of `file`, as far as this user may set them. A new file gets mode 0600. */
export function ownership(file: string): { mode: number; owner: Owner | undefined } {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return { mode: 0o600, owner: undefined };
  const uid = process.getuid?.() ?? stat.uid;
  const mayGive = uid === 0 || (process.getgroups?.() ?? []).includes(stat.gid);
  const gid = mayGive ? stat.gid : (process.getgid?.() ?? stat.gid);
  return { mode: stat.mode & 0o7777, owner: { uid: uid === 0 ? stat.uid : uid, gid } };
}

/** Writes an existing file in place. Until that is done, `FILE.TIME.palace-former` has the former content, also after a kill. */
function writeInPlace(file: string, content: string | Uint8Array): void {
  const before = readFileSync(file);
  const copy = `${file}.${Date.now()}.palace-former`;
  writeFileAtomic(copy, before, statSync(file).mode & 0o7777);
  faultPoint("file.copied");
  try {
    fill(file, content);
  } catch (error) {
    // If restoring the content fails, too, the copy stays.
    orElse(() => {
      fill(file, before);
      rmSync(copy, { force: true });
    }, undefined);
    throw Object.assign(error as NodeJS.ErrnoException, { path: file });
  }
  rmSync(copy, { force: true });
}

function fill(file: string, content: string | Uint8Array): void {
  const open = openSync(file, "r+");
  try {
    // Truncates only at the end, because another program may read the file now.
    writeFileSync(open, content);
    faultPoint("file.overwritten");
    ftruncateSync(open, Buffer.byteLength(content));
    syncFile(open);
  } finally {
    closeSync(open);
  }
}

/** Replaces a file atomically without syncing. A power cut may empty the file, so use this only for content that is useless after one. */
export function replaceFile(path: string, content: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, content, { mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw Object.assign(error as NodeJS.ErrnoException, { path });
  }
}

/** Replaces a file atomically and syncs it without blocking the event loop. Makes the folder. Errors: file system errors. */
export async function replaceLater(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(temporary, content, { mode: 0o600, flush: true });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** Overwrites an existing file in place, which works on a full disk if the file does not grow. A reader may see a half-written file. */
export function overwriteFile(path: string, content: string): void {
  const file = openSync(path, "r+");
  try {
    ftruncateSync(file, writeSync(file, content, 0));
  } finally {
    closeSync(file);
  }
}

/** Removes temporary files of killed writers below a folder. Skips files that it cannot remove. */
export function removeLeftovers(folder: string, nowMs = Date.now()): void {
  for (const name of namesBelow(folder).filter((one) => TEMPORARY.test(one))) {
    const path = join(folder, name);
    try {
      if (nowMs - statSync(path).mtimeMs > LEFTOVER_AGE_MS) rmSync(path);
    } catch {
      // The writer has just renamed the file, or the file belongs to another user.
    }
  }
}

function namesBelow(folder: string): string[] {
  return orElse(() => readdirSync(folder, { recursive: true, encoding: "utf8" }), []);
}
