/**
 * Puts a verified backup in the place of a palace: what is there is moved aside, what is staged takes its name, each by a rename, in the
 * order of a list that was written down before the first. Killed anywhere there is the old palace (no list yet) or the rest of the list,
 * which whoever next has the palace's lock does: another `palace restore`, or the next broker before it opens anything. The list holds
 * names alone; where they are is asked of the configuration, so that a palace that was moved meanwhile is finished where it is now.
 */
import { lstatSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { writeFileAtomic } from "../platform/atomic-file.ts";
import { faultPoint } from "../platform/fault.ts";
import { isRecord } from "../platform/is-record.ts";
import { RESTORE_MARKER } from "../platform/state-files.ts";
import { PalaceError } from "../protocol/errors.ts";
import { isDraft, removeDrafts } from "./draft.ts";
import { LEDGER } from "./manifest.ts";
import { move, sync } from "./move.ts";
import { type Entry, folderOf, isOwn, ownEntries, type SwapPaths, targetOf } from "./places.ts";

export type PendingRestore = {
  schema: 2;
  /** Which backup, as it was named. */
  file: string;
  /** Name of the staged folder in the home. */
  staged: string;
  /** The old state is kept in before-restore-STAMP, beside where it was. */
  stamp: string;
  /** What goes there, and what comes, in this order. */
  out: Entry[];
  come: string[];
};

type Move = { from: string; to: string };

export const STAGED = ".restore-";

/** `isElsewhere`: the public palace is a server's. */
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
  // Doors and settings that are there stay: a token that was revoked since does not come back.
  const wanted = from.names.filter((name) => leaves.has(targetOf(paths, name) ?? "") || isFree(name));
  return {
    ...{ schema: 2, file: from.file, staged: basename(from.staged) },
    stamp: new Date().toISOString().replaceAll(/[:.]/g, "-"),
    out,
    // The ledger comes last: where it is, everything is.
    come: [...wanted.filter((name) => name !== LEDGER), LEDGER],
  };
}

/** Where the old state is kept. */
export function asideOf(paths: SwapPaths, { out, stamp }: PendingRestore): string[] {
  return [...new Set(out.map(({ place }) => join(folderOf(paths, place), `before-restore-${stamp}`)))];
}

/** From the first line of it on the new palace is the one that will be there. The caller has the palace's lock. Errors: as finishRestore. */
export function swapIn(paths: SwapPaths, pending: PendingRestore): void {
  assertThere(movesOf(paths, pending));
  faultPoint("restore.before-marker");
  writeFileAtomic(join(paths.home, RESTORE_MARKER), `${JSON.stringify(pending)}\n`);
  faultPoint("restore.after-marker");
  finishRestore(paths);
}

/** Errors: STORE_CORRUPT for a list that is none of ours. */
export function pendingRestore(home: string): PendingRestore | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(join(home, RESTORE_MARKER), "utf8"));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    if (error instanceof SyntaxError) throw refused("is no list of ours", error);
    throw error;
  }
  if (!isPending(value)) throw refused("is no list of ours");
  return value;
}

/**
 * Does what is left of a restore that was begun; nothing where none was. The caller has the palace's lock. Errors: STORE_CORRUPT, before
 * anything is moved; the file system's: it can be called again.
 */
export function finishRestore(paths: SwapPaths): PendingRestore | undefined {
  const { home } = paths;
  const pending = pendingRestore(home);
  if (pending !== undefined) {
    const moves = movesOf(paths, pending);
    assertThere(moves);
    for (const { from, to } of moves) {
      // Nothing had that name when the list was made: what has it now is what was moved there.
      if (!isThere(to)) move(from, to);
      faultPoint("restore.after-move");
    }
    for (const folder of new Set(moves.flatMap(({ from, to }) => [dirname(from), dirname(to)]))) sync(folder);
    faultPoint("restore.before-end");
    rmSync(join(home, RESTORE_MARKER));
    sync(home);
    faultPoint("restore.after-end");
  }
  // Of restores that were killed before their swap too.
  removeDrafts(home, STAGED);
  return pending;
}

/** Errors: STORE_CORRUPT for what no planner of ours has written: the folder may come from anywhere. */
function movesOf(paths: SwapPaths, { staged, stamp, out, come }: PendingRestore): Move[] {
  const from = join(paths.home, staged);
  for (const folder of [from, ...asideOf(paths, { stamp, out } as PendingRestore)])
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) throw refused(`names ${folder}`);
  return [
    ...out.map((entry) => {
      if (!isOwn(paths, entry)) throw refused(`names ${entry.name}, which is not the palace's`);
      const folder = folderOf(paths, entry.place);
      return { from: join(folder, entry.name), to: join(folder, `before-restore-${stamp}`, entry.name) };
    }),
    ...come.map((name) => {
      const to = targetOf(paths, name);
      if (to === undefined) throw refused(`names ${name}, which no backup puts anywhere`);
      return { from: join(from, name), to };
    }),
  ];
}

/** Errors: STORE_CORRUPT where something of it is neither here nor there: then nothing is moved. */
function assertThere(moves: readonly Move[]): void {
  const lost = moves.find(({ from, to }) => !isThere(from) && !isThere(to));
  if (lost !== undefined) throw refused(`is not to be finished: there is neither ${lost.from} nor ${lost.to}`);
}

/** Also a link that leads nowhere. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function refused(why: string, cause?: unknown): PalaceError {
  return new PalaceError(
    "STORE_CORRUPT",
    `${RESTORE_MARKER} ${why}; nothing was moved`,
    `open the palace as it was opened for the restore; or give that restore up: move ${RESTORE_MARKER} away, and put back what lies in before-restore-*`,
    { cause },
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
