/** Makes backups on request or when due, removes old scheduled ones, and lists the results beside the ledger for `palace doctor`. */
import { mkdirSync, rmSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BackupMethods, BackupThreadData } from "../../memory/backup/backup-thread.ts";
import { noteSchedule, ownBackups, readList, type Schedule } from "../../memory/backup/known-backups.ts";
import { removeDrafts as removeUnpacked, VERIFY_DRAFT } from "../../memory/backup/draft.ts";
import { removeDrafts, STAGED_KEPT_MS } from "../../memory/backup/make.ts";
import { backupName } from "../../memory/backup/name.ts";
import type { Config } from "../../config/config.ts";
import type { Log } from "../../base/log.ts";
import { startThread, type Thread, threadFile } from "../../base/thread.ts";
import { badParams, denied, PalaceError, unavailable } from "../../base/errors.ts";
import type { BackupsReport, JobRequest } from "../../protocol/spec.ts";
import { CLOSETS } from "../../mempalace/format/chroma-file.ts";
import type { Peer } from "../peer.ts";
import { type Jobs, type JobWork, onThread, type Say } from "./jobs.ts";
import { orElse } from "../../base/or-else.ts";

export type BackupRequest = Extract<JobRequest, { kind: "backup" }>;
type Scheduled = { scheduled: boolean; passphrase: string | undefined };

const ASKED: Scheduled = { scheduled: false, passphrase: undefined };

/** Makes the backup job. `settle` waits until foreign rows are in the ledger, and returns a reason if that takes too long. */
export function beginBackup(
  config: Config,
  request: BackupRequest,
  settle: (say: Say) => Promise<string | undefined>,
  { scheduled, passphrase }: Scheduled = ASKED,
): JobWork {
  const { home, ledgerFile, palaceDir, settingsDir } = config.paths;
  const source = { home, ledgerFile, palaceDir, settingsDir, collections: [config.collection(), CLOSETS] };
  const { file, replace, goesTo, encrypted } = request;
  const note = { file: file ?? goesTo, encrypted: encrypted || passphrase !== undefined, scheduled };
  return onThread(
    () => startBackupThread(config),
    async (thread, say) => {
      const unsettled = await settle(say);
      const report = await thread.call("make", { source, file, replace, passphrase, note });
      // A client whose home is read-only (as in a devbox) cannot remove the staged file, so the broker removes the file later.
      if (file === null) setTimeout(() => removeStaged(home), STAGED_KEPT_MS).unref();
      return { ...report, unsettled: unsettled ?? null };
    },
    { mayLeave: true },
  );
}

/** Removes the staged backup (a file that the client copies). If the home is read-only now, the next backup removes it. */
function removeStaged(home: string): void {
  try {
    removeDrafts(home, STAGED_KEPT_MS);
  } catch {
    // The removal runs later, so no caller could get its error.
  }
}

/** Checks a backup request, which may name a file of this machine. Errors: PROTOCOL_BAD_PARAMS; BROKER_DENIED for other machines. */
export function readBackupRequest(params: Record<string, unknown>, { door }: Pick<Peer, "door">): BackupRequest {
  const { file = null, goesTo = null, replace, encrypted } = params;
  for (const path of [file, goesTo])
    if (path !== null && (typeof path !== "string" || !isAbsolute(path)))
      throw badParams("file must be an absolute path");
  // Only the owner's own socket opens a page with the role admin (page/page.ts), so an admin on the page is at this machine, too.
  if (door !== "unix" && door !== "ui")
    throw denied("a backup is made on the broker's machine, through its socket", "on that machine: palace backup FILE");
  const paths = { file: file as string | null, goesTo: goesTo as string | null };
  return { kind: "backup", ...paths, replace: replace === true, encrypted: encrypted === true };
}

export type VerifyRequest = Extract<JobRequest, { kind: "verify" }>;

export function beginVerify(config: Config, { file }: VerifyRequest): JobWork {
  const { ledgerFile, cacheDir } = config.paths;
  const input = { file, ledgerFile, cacheDir, passphrase: config.backup.passphrase() };
  return onThread(
    () => startBackupThread(config),
    (thread) => thread.call("verify", input),
    { mayLeave: true },
  );
}

export function readVerifyRequest({ file }: Record<string, unknown>, from: Pick<Peer, "door">): VerifyRequest {
  const { file: path } = readBackupRequest({ file }, from);
  if (path !== null) return { kind: "verify", file: path };
  throw badParams("file must be an absolute path");
}

export function listBackups(home: string): BackupsReport {
  const { backups, schedule } = readList(home);
  const listed = backups.toReversed().map(({ journalSeq: _seq, ...one }) => {
    return { ...one, isThere: one.file !== null && isFile(one.file) };
  });
  return { backups: listed, schedule };
}

/** Returns false also for a file that cannot be reached now, such as one of another machine. */
function isFile(path: string): boolean {
  return orElse(() => statSync(path).isFile(), false);
}

function startBackupThread({ fault }: Config): Promise<Thread<BackupMethods>> {
  const data: BackupThreadData = { fault };
  return startThread<BackupMethods>(threadFile(import.meta.url, "../../memory/backup/backup-thread"), data);
}

const HOUR_MS = 3_600_000;
/** A failed or blocked backup is tried again after this part of the interval, but after RETRY_MAX_MS at the latest. */
const RETRY_PART = 1 / 8;
const RETRY_MAX_MS = HOUR_MS;
const POLL_MS = 100;
const QUIET_WAIT_MAX_MS = 60_000;
/** Maximum time of a timer in Node. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Errors that do not count as a failure: another job runs, somebody cancelled the backup, or the broker ends. The backup is still due. */
const NO_FAILURE: ReadonlySet<string> = new Set(["BROKER_BUSY", "BROKER_CANCELLED", "BROKER_SHUTTING_DOWN"]);

export type BackupSchedule = {
  config: Config;
  jobs: Jobs;
  begin: (request: BackupRequest, scheduled: Scheduled) => JobWork;
  /** True while writes wait. */
  isBusy: () => boolean;
  log: Log;
};

export function startSchedule({ config, jobs, begin, isBusy, log }: BackupSchedule): () => void {
  const { home, tag, cacheDir } = config.paths;
  const { dir, hours, keep } = config.backup;
  removeDrafts(home);
  // Removes the unpacked ledger that a broker leaves if it is killed while it reads a backup.
  removeUnpacked(cacheDir, VERIFY_DRAFT);
  if (dir === undefined) {
    noteSchedule(home, null);
    return () => {};
  }
  const schedule: Schedule = { dir, hours, keep, failure: readList(home).schedule?.failure ?? null };
  const everyMs = hours * HOUR_MS;
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  const note = (failure: Schedule["failure"]): void => noteSchedule(home, { ...schedule, failure });
  const inTime = (delayMs: number): void => {
    if (!isEnded) timer = setTimeout(() => void run(), Math.min(Math.max(delayMs, 0), TIMER_MAX_MS)).unref();
  };
  const untilDue = (): number => (ownBackups(config.paths, dir).made.at(-1)?.madeAtMs ?? 0) + everyMs - Date.now();
  const run = async (): Promise<void> => {
    let nextMs = Math.min(everyMs * RETRY_PART, RETRY_MAX_MS);
    try {
      if (untilDue() <= 0) await make();
      note(null);
      // A clock that is set back delays the next backup by at most one interval.
      nextMs = Math.min(untilDue(), everyMs);
    } catch (error) {
      const { message, hint = "palace logs" } = error as PalaceError;
      if (!(error instanceof PalaceError && NO_FAILURE.has(error.code))) {
        log.warn("the backup failed", { why: message });
        noteQuietly(() => note({ atMs: Date.now(), message, hint }), log);
      }
    }
    inTime(nextMs);
  };
  const make = async (): Promise<void> => {
    for (let waitedMs = 0; isBusy() && waitedMs < QUIET_WAIT_MAX_MS; waitedMs += POLL_MS) await sleep(POLL_MS);
    makeFolder(dir);
    const passphrase = config.backup.passphrase();
    const file = join(dir, backupName(tag, new Date(), passphrase !== undefined));
    const request: BackupRequest = {
      kind: "backup",
      file,
      replace: false,
      goesTo: null,
      encrypted: passphrase !== undefined,
    };
    const { id } = jobs.start("backup", request, () => begin(request, { scheduled: true, passphrase }));
    const { error } = await jobs.ended(id);
    if (error !== null) throw new PalaceError(error.code, error.message, error.hint);
    const older = ownBackups(config.paths, dir).made.filter((one) => one.file !== file);
    for (const one of older.slice(0, Math.max(older.length - (keep - 1), 0))) rmSync(one.file, { force: true });
  };
  noteQuietly(() => note(schedule.failure), log);
  inTime(untilDue());
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

/** Makes the backup folder, but not its parents: a missing parent means that a disk is not mounted. */
function makeFolder(dir: string): void {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true) return;
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (cause) {
    throw unavailable(
      `the folder for backups cannot be made: ${(cause as Error).message}`,
      "mount its disk, or make the folder above it; the setting backup-dir names it",
      cause,
    );
  }
}

/** Writes the list of backups, or only logs a failure, because other code reports a home that accepts no files. */
function noteQuietly(work: () => void, log: Log): void {
  try {
    work();
  } catch (error) {
    log.warn("the list of backups cannot be written", { why: String(error) });
  }
}
