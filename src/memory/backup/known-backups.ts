/** Keeps `backups.json` beside the ledger: a list of backups, some of which may have been removed, and the schedule's state. */
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRecord, readRecord } from "../../base/parse-json.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import type { BackupsReport } from "../../protocol/status.ts";
import { scheduledNames } from "./name.ts";

export type ListedBackup = Omit<BackupsReport["backups"][number], "isThere"> & { journalSeq: number };

export type Schedule = NonNullable<BackupsReport["schedule"]>;

export type BackupList = { backups: ListedBackup[]; schedule: Schedule | null };

const NAME = "backups.json";
/** Maximum number of listed backups that were not scheduled. Without a limit the list would grow for ever. */
const LISTED_MAX = 200;

export function readList(home: string): BackupList {
  const list = readRecord(join(home, NAME));
  // If the list is missing or invalid, the next backup begins a new list.
  return isList(list) ? list : { backups: [], schedule: null };
}

function isList(value: Record<string, unknown>): value is BackupList {
  return Array.isArray(value["backups"]) && value["backups"].every(isRecord);
}

export function noteBackup(home: string, made: ListedBackup): void {
  const { backups, schedule } = readList(home);
  // A backup that replaces a file also replaces that file's entry. A streamed backup (`file` is null) keeps its own entry.
  const others = backups.filter(({ file }) => file === null || (file !== made.file && !isGone(file)));
  const asked = others.filter(({ scheduled }) => !scheduled);
  const dropped = new Set(asked.slice(0, -LISTED_MAX));
  write(home, { backups: [...others.filter((one) => !dropped.has(one)), made], schedule });
}

/** A missing file on an unmounted disk does not count as removed. */
function isGone(file: string): boolean {
  return !existsSync(file) && existsSync(dirname(file));
}

export type OwnBackup = { file: string; madeAtMs: number };

/**
 * Lists this palace's backups with a default name in `dir`, the oldest first. A file must be in the list, because another machine's palace
 * may have the same tag. `ahead` are backups with a future time in their name, after a clock was set back.
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
