/**
 * Puts a verified backup in the place of a palace: what is there is moved aside, what is staged takes its name, each by a rename, in the
 * order of a list that was written down before the first. Killed anywhere there is the old palace (no list yet) or the rest of the list,
 * which whoever next has the palace's lock does: another `palace restore`, or the next broker before it opens anything.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isAlive } from "../platform/alive.ts";
import { writeFileAtomic } from "../platform/atomic-file.ts";
import { faultPoint } from "../platform/fault.ts";
import { RESTORE_MARKER } from "../platform/state-files.ts";
import { EVENTS, LEDGER } from "./manifest.ts";

export type SwapPaths = {
  home: string;
  palaceDir: string;
  ledgerFile: string;
  graphFile: string;
  tunnelsFile: string;
  hallwaysFile: string;
};

type Move = { from: string; to: string };
export type PendingRestore = {
  schema: 1;
  /** Which backup, as it was named. */
  file: string;
  staged: string;
  /** Where the old state is kept. */
  aside: string[];
  moves: Move[];
};

const STAGED = /^\.restore-(\d+)-[0-9a-f]{8}$/;
const SQLITE = ["", "-wal", "-shm", "-journal"];
/** What MemPalace and we have in a palace's folder that is the home as well. */
const PALACE_ENTRY =
  /^(?:chroma\.sqlite3|logstream\.sqlite3)(?:-wal|-shm|-journal)?$|^(?:replica|mempalace_embedder)\.json$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const EVENTS_ENTRY = /^logstream\.sqlite3(?:-wal|-shm|-journal)?$|^replica\.json$/;

/** `isElsewhere`: the public palace is a server's, whose files are not ours to move. */
export function planSwap(
  paths: SwapPaths,
  from: { file: string; staged: string; names: readonly string[] },
  isElsewhere: boolean,
): PendingRestore {
  const { home, palaceDir, ledgerFile, graphFile, tunnelsFile, hallwaysFile } = paths;
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const old = [
    ...SQLITE.flatMap((suffix) => [`${ledgerFile}${suffix}`, `${graphFile}${suffix}`]),
    ...[tunnelsFile, hallwaysFile],
    ...entriesOf(palaceDir)
      .filter((name) => (isElsewhere ? EVENTS_ENTRY.test(name) : isOfPalace(name, palaceDir === home)))
      .map((name) => join(palaceDir, name)),
  ].filter((path) => existsSync(path));
  const away = (path: string): Move => ({
    from: path,
    to: join(dirname(path), `before-restore-${stamp}`, basename(path)),
  });
  const out = [...new Set(old)].map(away);
  const target = (name: string): string =>
    name === LEDGER ? ledgerFile : name === EVENTS ? join(palaceDir, EVENTS) : join(home, name);
  // Doors and settings that are there stay: a token that was revoked since does not come back.
  const wanted = from.names.filter((name) => name === LEDGER || name === EVENTS || !existsSync(target(name)));
  // The ledger comes last: where it is, everything is.
  const ordered = [...wanted.filter((name) => name !== LEDGER), LEDGER];
  const moves = [...out, ...ordered.map((name) => ({ from: join(from.staged, name), to: target(name) }))];
  const aside = [...new Set(out.map(({ to }) => dirname(to)))];
  return { schema: 1, file: from.file, staged: from.staged, aside, moves };
}

function isOfPalace(name: string, isHome: boolean): boolean {
  return isHome ? PALACE_ENTRY.test(name) : !name.startsWith("before-");
}

/** From the first line of it on the new palace is the one that will be there. The caller has the palace's lock. */
export function swapIn(home: string, pending: PendingRestore): void {
  faultPoint("restore.before-marker");
  writeFileAtomic(join(home, RESTORE_MARKER), `${JSON.stringify(pending)}\n`);
  faultPoint("restore.after-marker");
  finishRestore(home);
}

export function pendingRestore(home: string): PendingRestore | undefined {
  try {
    return JSON.parse(readFileSync(join(home, RESTORE_MARKER), "utf8")) as PendingRestore;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || (error as NodeJS.ErrnoException).code === "ENOTDIR")
      return undefined;
    throw error;
  }
}

/**
 * Does what is left of a restore that was begun; nothing where none was. The caller has the palace's lock. Errors: the file system's;
 * it can be called again. `own`: a folder that the caller itself has staged.
 */
export function finishRestore(home: string, own?: string): PendingRestore | undefined {
  const pending = pendingRestore(home);
  if (pending === undefined) {
    removeStaged(home, own);
    return undefined;
  }
  const folders = new Set<string>();
  for (const { from, to } of pending.moves) {
    // Nothing had that name when the list was made: what has it now is what was moved there.
    if (!existsSync(to) && existsSync(from)) {
      mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
      renameSync(from, to);
    }
    for (const path of [from, to]) folders.add(dirname(path));
    faultPoint("restore.after-move");
  }
  for (const folder of folders) syncFolder(folder);
  faultPoint("restore.before-end");
  rmSync(join(home, RESTORE_MARKER));
  syncFolder(home);
  faultPoint("restore.after-end");
  removeStaged(home, own);
  return pending;
}

/** A folder in the home for what is unpacked; its name says whose it is. */
export function stagedFolder(home: string): string {
  return join(home, `.restore-${process.pid}-${randomBytes(4).toString("hex")}`);
}

/** What a restore that was killed before its swap has left. */
function removeStaged(home: string, own: string | undefined): void {
  for (const name of entriesOf(home)) {
    const pid = Number(STAGED.exec(name)?.[1]);
    if (pid > 0 && join(home, name) !== own && (pid === process.pid || !isAlive(pid)))
      rmSync(join(home, name), { recursive: true, force: true });
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function syncFolder(folder: string): void {
  if (!existsSync(folder)) return;
  const opened = openSync(folder, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
