/** Folders of ours that are missing or open to others, and what a dead broker of this palace has left. Imported by fix.ts. */
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, rmSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { readBrokerFile } from "../../wire/client/discover.ts";
import { START_MARK_MS } from "../../wire/client/start.ts";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../base/can-write.ts";
import { tryFlock } from "../../base/libc.ts";
import { dropStarting, isWanted, staleStart, unwritable } from "../../base/state-files.ts";
import type { Fix } from "./check.ts";

const OPEN_TO_OTHERS = 0o077;

/** The state folder, and that of the sockets where a broker may run here; a palace's own folder is made by its broker. */
export function folderFixes({ paths }: Config): Fix[] {
  const sockets = existsSync(paths.home) && !canWrite(paths.home) ? [] : [dirname(paths.socketPath)];
  return [paths.stateDir, ...sockets].flatMap((folder): Fix[] => {
    const stat = look(folder);
    if (stat === undefined) {
      const what = `make ${folder}, for you alone`;
      return [
        { name: "folder", what, run: guarded(folder, () => void mkdirSync(folder, { recursive: true, mode: 0o700 })) },
      ];
    }
    if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & OPEN_TO_OTHERS) === 0) return [];
    return [
      { name: "folder", what: `close ${folder} to others`, run: guarded(folder, () => chmodSync(folder, 0o700)) },
    ];
  });
}

/** Only while nobody holds the palace's lock: then no broker is behind any of it. */
export function leftoverFixes({ paths }: Config): Fix[] {
  const { lockFile, brokerFile, wantedFile, socketPath, gatePath, outcomeSocketPath } = paths;
  const release = existsSync(lockFile) ? holdLock(lockFile) : undefined;
  if (existsSync(lockFile) && release === undefined) return [];
  release?.();
  const alone = (path: string, name: string, what: string, remove: () => void): Fix => {
    const run = guarded(path, () => {
      const held = existsSync(lockFile) ? holdLock(lockFile) : () => {};
      if (held === undefined) return `${what}: left, a broker has come meanwhile`;
      try {
        remove();
      } finally {
        held();
      }
      return undefined;
    });
    return { name, what, run };
  };
  const drop = (path: string, name: string, what: string): Fix =>
    alone(path, name, what, () => rmSync(path, { force: true }));
  return [
    ...[socketPath, gatePath, outcomeSocketPath]
      .filter(isOwnSocket)
      .map((path) => drop(path, "socket", `remove the dead socket ${path}`)),
    // A file of another broker, or of a program that is not ours, is left alone.
    ...(readBrokerFile(brokerFile) === undefined
      ? []
      : [drop(brokerFile, "note", `remove ${brokerFile} of a broker that has died`)]),
    ...(existsSync(wantedFile) && !isWanted(wantedFile)
      ? [drop(wantedFile, "note", `remove ${wantedFile} of a broker that has given up`)]
      : []),
    ...(staleStart(paths, START_MARK_MS)
      ? [alone(paths.stateDir, "note", "remove the mark of a start that has died", () => dropStarting(paths))]
      : []),
  ];
}

/** Undefined: a broker has it. Its answer lets it go. A file system without locks is left as it is. */
function holdLock(file: string): (() => void) | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(file, "r+");
    if (tryFlock(fd)) {
      const held = fd;
      return () => closeSync(held);
    }
  } catch {
    // The lock cannot be tested here, so the file is left alone.
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

function isOwnSocket(path: string): boolean {
  const stat = look(path);
  return stat?.isSocket() === true && stat.uid === process.getuid?.();
}

function guarded<T>(folder: string, act: () => T): () => T {
  return () => {
    try {
      return act();
    } catch (cause) {
      throw unwritable(folder, cause);
    }
  };
}

/** Below a file there is nothing. */
function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
