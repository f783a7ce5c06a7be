/** Checks the backups for `palace doctor`. It reads the list of backups beside the ledger, so it needs no running broker. */
import { type OwnBackup, ownBackups, readList, type Schedule } from "../../memory/backup/known-backups.ts";
import type { Config } from "../../config/config.ts";
import { formatDuration, plural } from "../terminal/output.ts";
import { type Check, ok, warn } from "../doctor/check.ts";

const HOUR_MS = 3_600_000;
/** Number of intervals after which a backup is late. The extra half allows for a time without a broker. */
const LATE_FACTOR = 1.5;

/** Returns the folder in which the broker makes backups, if the last backup there is too old. */
export function overdueFolder({ paths, backup }: Config): string | undefined {
  const { schedule } = readList(paths.home);
  if (schedule === null || (backup.dir ?? schedule.dir) !== schedule.dir) return undefined;
  const { made, ahead } = ownBackups(paths, schedule.dir);
  return ahead.length === 0 && isLate(made.at(-1), schedule) ? schedule.dir : undefined;
}

/** Returns the folder of the setting backup-dir if the broker makes no backups there, because it started before the setting was set. */
export function unknownFolder({ paths, backup: { dir } }: Config): string | undefined {
  return readList(paths.home).schedule?.dir === dir ? undefined : dir;
}

function isLate(last: OwnBackup | undefined, { hours }: Schedule): boolean {
  return last === undefined || Date.now() - last.madeAtMs > hours * HOUR_MS * LATE_FACTOR;
}

export function checkBackups({ paths, backup, endpoint }: Config): Check {
  const { schedule, backups } = readList(paths.home);
  const asked = backups.at(-1);
  const dir = backup.dir ?? schedule?.dir;
  if (dir === undefined) {
    const last =
      asked === undefined ? "none was made here" : `the last one ${formatDuration(Date.now() - asked.madeAtMs)} ago`;
    const none = `no automatic backups, ${endpoint === undefined ? last : "as far as this machine knows"}`;
    return ok("backups", none);
  }
  if (schedule === null || schedule.dir !== dir)
    return warn("backups", `the last broker was not started with the backup folder ${dir}`, "palace restart");
  const { made, ahead } = ownBackups(paths, dir);
  const last = made.at(-1);
  const said = `${plural(made.length, "backup")} in ${dir}${last === undefined ? "" : `, the last one ${formatDuration(Date.now() - last.madeAtMs)} old`}`;
  if (schedule.failure !== null)
    return warn("backups", `${said}; the last try failed: ${schedule.failure.message}`, schedule.failure.hint);
  const future = ahead.at(-1);
  if (future !== undefined)
    return warn(
      "backups",
      `${said}; ${future.file} has a date in the future in its name, and does not count`,
      "set the clock right, then move that file away",
    );
  if (isLate(last, schedule))
    return warn(
      "backups",
      `${said}, one is due every ${schedule.hours} h`,
      "a running broker makes it: palace start; or make one now: palace backup",
    );
  return ok("backups", said);
}
