/**
 * `backups.json` beside the ledger: which backups were made and where they went, so that `forget` can name those that still hold
 * something and the schedule knows its own; and how that fares, for `doctor`. A hint: a file that is gone is gone. Written by the broker.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../platform/atomic-file.ts";
import { isRecord } from "../platform/is-record.ts";
import { scheduledNames } from "./name.ts";

export type ListedBackup = {
  /** null: it went into a pipe, and nobody knows where it is. */
  file: string | null;
  madeAtMs: number;
  journalSeq: number;
  bytes: number;
  encrypted: boolean;
  scheduled: boolean;
};

export type Schedule = {
  dir: string;
  hours: number;
  keep: number;
  /** Of the last one that was due; null once one was made. */
  failure: { atMs: number; message: string; hint: string } | null;
};

export type BackupList = { backups: ListedBackup[]; schedule: Schedule | null };

const NAME = "backups.json";
/** Of those that nothing removes by itself. */
const LISTED_MAX = 200;

export function readList(home: string): BackupList {
  try {
    const value = JSON.parse(readFileSync(join(home, NAME), "utf8")) as unknown;
    if (isRecord(value) && Array.isArray(value["backups"])) return value as BackupList;
  } catch {
    // There is none yet, or it is no list of ours: the next backup begins one.
  }
  return { backups: [], schedule: null };
}

export function noteBackup(home: string, made: ListedBackup): void {
  const { backups, schedule } = readList(home);
  // One that is written over another is the only one of its name; what went into a pipe is told apart by its moment alone.
  const others = backups.filter(({ file }) => file === null || (file !== made.file && !isGone(file)));
  const asked = others.filter(({ scheduled }) => !scheduled);
  const dropped = new Set(asked.slice(0, -LISTED_MAX));
  write(home, { backups: [...others.filter((one) => !dropped.has(one)), made], schedule });
}

/** Of a disk that is not mounted nothing is known. */
function isGone(file: string): boolean {
  return !existsSync(file) && existsSync(dirname(file));
}

export type OwnBackup = { file: string; madeAtMs: number };

/**
 * Backups of this very palace in that folder, the oldest first: another machine's palace may have the same tag and share the folder. An
 * empty file is none. `ahead`: their names lie in the future, as after a clock was put back.
 */
export function ownBackups(
  { home, tag }: { home: string; tag: string },
  dir: string,
  nowMs = Date.now(),
): { made: OwnBackup[]; ahead: OwnBackup[] } {
  const listed = new Set(readList(home).backups.map(({ file }) => file));
  const own = scheduledNames(dir, tag)
    .map(({ name, madeAtMs }) => ({ file: join(dir, name), madeAtMs }))
    .filter(({ file }) => listed.has(file) && (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);
  return { made: own.filter((one) => one.madeAtMs <= nowMs), ahead: own.filter((one) => one.madeAtMs > nowMs) };
}

export function noteSchedule(home: string, schedule: Schedule | null): void {
  const list = readList(home);
  if (JSON.stringify(list.schedule) !== JSON.stringify(schedule)) write(home, { ...list, schedule });
}

function write(home: string, list: BackupList): void {
  writeFileAtomic(join(home, NAME), `${JSON.stringify(list, null, 2)}\n`);
}
