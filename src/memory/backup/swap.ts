/**
 * Replaces a palace by a verified backup: moves each old file aside and each staged file into its place. A list of the moves is written
 * before the first move. If a kill comes before the list is written, the old palace stays. If a kill comes later, the next holder of the
 * palace's lock makes the remaining moves: another `palace backup restore`, or the next broker. The list has only names, and the folders
 * come from the configuration, so a palace that was moved in between is restored in its new place.
 */
import { lstatSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { isRecord } from "../../base/parse-json.ts";
import { RESTORE_MARKER } from "../../base/state-files.ts";
import { damaged, type PalaceError } from "../../base/errors.ts";
import { isDraft, removeDrafts } from "./draft.ts";
import { LEDGER } from "./contents.ts";
import { move, sync } from "./move.ts";
import { type Entry, folderOf, isOwn, ownEntries, type SwapPaths, targetOf } from "./palace-files.ts";

export type PendingRestore = {
  schema: 2;
  /** Path of the backup, as the user gave it. */
  file: string;
  staged: string;
  /** Suffix of the folders `before-restore-STAMP`, which keep the old files beside their old place. */
  stamp: string;
  /** Old files that move to the folders `before-restore-STAMP`. The files in `come` move in after that. */
  out: Entry[];
  come: string[];
};

type Move = { from: string; to: string };

export const STAGED = ".restore-";

/** Plans the moves. `isElsewhere` is true if a server has the public palace, whose files then do not move. */
export function planSwap(
  paths: SwapPaths,
  from: { file: string; staged: string; names: readonly string[] },
  isElsewhere: boolean,
): PendingRestore {
  const isFree = (name: string): boolean => {
    const target = targetOf(paths, name);
    return target !== undefined && !isThere(target);
  };
  const out = ownEntries(paths, isElsewhere);
  const leaves = new Set(out.map(({ place, name }) => join(folderOf(paths, place), name)));
  // Leaves out a file if an existing file of the same name is not moved aside. So existing tokens stay, and a token that was revoked after
  // the backup stays revoked.
  const wanted = from.names.filter((name) => leaves.has(targetOf(paths, name) ?? "") || isFree(name));
  return {
    ...{ schema: 2, file: from.file, staged: basename(from.staged) },
    stamp: new Date().toISOString().replaceAll(/[:.]/g, "-"),
    out,
    // The ledger moves last: if the ledger is in place, all other files are in place, too.
    come: [...wanted.filter((name) => name !== LEDGER), LEDGER],
  };
}

/** Lists the folders that keep the old palace. */
export function asideOf(paths: SwapPaths, { out, stamp }: Pick<PendingRestore, "out" | "stamp">): string[] {
  return [...new Set(out.map(({ place }) => join(folderOf(paths, place), `before-restore-${stamp}`)))];
}

/** Writes the list, then makes the moves. `finishRestore` resumes after a kill. The caller has the lock. Errors: as finishRestore. */
export function swapIn(paths: SwapPaths, pending: PendingRestore): void {
  assertThere(movesOf(paths, pending));
  faultPoint("restore.before-marker");
  writeFileAtomic(join(paths.home, RESTORE_MARKER), `${JSON.stringify(pending)}\n`);
  faultPoint("restore.after-marker");
  finishRestore(paths);
}

/** Returns the list of an unfinished restore; undefined if every restore is finished. Errors: STORE_CORRUPT for an invalid list. */
export function pendingRestore(home: string): PendingRestore | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(join(home, RESTORE_MARKER), "utf8"));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    if (error instanceof SyntaxError) throw refused("is not a valid list of moves", error);
    throw error;
  }
  if (!isPending(value)) throw refused("is not a valid list of moves");
  return value;
}

/**
 * Finishes a restore that was begun, and removes staged folders of killed restores. The caller has the palace's lock. Errors: STORE_CORRUPT
 * before any move; the file system's errors, after which the caller may call this again.
 */
export function finishRestore(paths: SwapPaths): PendingRestore | undefined {
  const { home } = paths;
  const pending = pendingRestore(home);
  if (pending !== undefined) {
    const moves = movesOf(paths, pending);
    assertThere(moves);
    for (const { from, to } of moves) {
      // The target was free when the list was made. If the file exists there, an earlier run has already moved it.
      if (!isThere(to)) move(from, to);
      faultPoint("restore.after-move");
    }
    // Syncs the target folders before the source folders, so that after a power cut each file has a name in at least one of them.
    const folders = [...moves.map(({ to }) => dirname(to)), ...moves.map(({ from }) => dirname(from))];
    for (const folder of new Set(folders)) sync(folder);
    faultPoint("restore.before-end");
    rmSync(join(home, RESTORE_MARKER));
    sync(home);
    faultPoint("restore.after-end");
  }
  removeDrafts(home, STAGED);
  return pending;
}

/** Turns a list into paths. Errors: STORE_CORRUPT for a list that no restore writes, because another user may have written the list. */
function movesOf(paths: SwapPaths, { staged, stamp, out, come }: PendingRestore): Move[] {
  const from = join(paths.home, staged);
  for (const folder of [from, ...asideOf(paths, { out, stamp })])
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) throw refused(`names ${folder}`);
  return [
    ...out.map((entry) => {
      if (!isOwn(paths, entry)) throw refused(`names ${entry.name}, which is not the palace's`);
      const folder = folderOf(paths, entry.place);
      return { from: join(folder, entry.name), to: join(folder, `before-restore-${stamp}`, entry.name) };
    }),
    ...come.map((name) => {
      const to = targetOf(paths, name);
      if (to === undefined) throw refused(`names ${name}, which no backup contains`);
      return { from: join(from, name), to };
    }),
  ];
}

/** Checks all moves before the first one. Errors: STORE_CORRUPT if a file is neither at its old path nor at its new path. */
function assertThere(moves: readonly Move[]): void {
  const lost = moves.find(({ from, to }) => !isThere(from) && !isThere(to));
  if (lost !== undefined) throw refused(`cannot be finished: there is neither ${lost.from} nor ${lost.to}`);
}

/** Returns true also for a dangling link. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function refused(why: string, cause?: unknown): PalaceError {
  return damaged(
    `${RESTORE_MARKER} ${why}; nothing was moved`,
    `open the palace as it was opened for the restore; or abandon that restore: move ${RESTORE_MARKER} away, and move the files of before-restore-* back`,
    cause,
  );
}

function isPending(value: unknown): value is PendingRestore {
  if (!isRecord(value) || value["schema"] !== 2) return false;
  const { file, staged, stamp, out, come } = value;
  const isEntry = (one: unknown): boolean =>
    isRecord(one) && (one["place"] === "home" || one["place"] === "palace") && typeof one["name"] === "string";
  return (
    typeof file === "string" &&
    typeof staged === "string" &&
    staged.startsWith(STAGED) &&
    isDraft(staged.slice(STAGED.length)) &&
    /^[0-9TZ-]{1,40}$/.test(String(stamp)) &&
    Array.isArray(out) &&
    out.every(isEntry) &&
    Array.isArray(come) &&
    come.every((name) => typeof name === "string")
  );
}
