/** Makes the jobs that work on a whole palace: export, rebuild, backup, verification. */
import { isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../config/config.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { startThread, type Thread, threadFile } from "../../base/thread.ts";
import { badParams, denied, PalaceError } from "../../base/errors.ts";
import type { BackupsReport, JobKind, JobRequest, PalaceHealthReport } from "../../protocol/spec.ts";
import type { RebuildMethods, RebuildThreadData } from "../../mempalace/rebuild/rebuild-thread.ts";
import type { Peer } from "../peer.ts";
import {
  beginBackup,
  type BackupRequest,
  beginVerify,
  listBackups,
  readBackupRequest,
  readVerifyRequest,
} from "./backups.ts";
import { type JobWork, onThread, type Say } from "./jobs.ts";
import type { WriterMethods } from "./writer-thread.ts";

export type MaintenanceParts = {
  config: Config;
  lastRow: () => number;
  /** Waits for the vectors of drawers up to `lastRow`. Resolves to true if they exist or nobody will make them. */
  embedded: (lastRow: number, timeoutMs: number) => Promise<boolean>;
  /** Returns why the ledger does not have the whole palace yet: foreign rows are still being adopted. */
  adopting: (kind: JobKind) => PalaceError | undefined;
  /** Returns an error that names another process which writes the public palace. */
  lockedBy: () => PalaceError | undefined;
  writer: Pick<Thread<WriterMethods>, "call">;
  /** Makes the indexes outside the ledger load the ledger's rebuilt rows. */
  onReindexed: (rows: number[]) => Promise<void>;
  /** Keeps our own writers off the public palace while `work` runs, then checks the palace. */
  exclusively: <T>(work: () => Promise<T>) => Promise<T>;
  /** Returns the id of the drawers' collection in the public palace, if the broker keeps a public palace. */
  collectionId: () => string | undefined;
};

export type Maintenance = {
  begin(request: JobRequest): JobWork;
  beginScheduled(request: BackupRequest, scheduled: { scheduled: boolean; passphrase: string | undefined }): JobWork;
  lookThrough(): Promise<PalaceHealthReport>;
  backups(): BackupsReport;
};

/** Length of one step of waiting. Between two steps the job can be cancelled. */
const POLL_MS = 200;
const SETTLE_MAX_MS = 60_000;
/** Maximum time that an export waits for all its vectors. An export with `partial` does not wait. */
const VECTORS_WAIT_MAX_MS = 10 * 60_000;

export function createMaintenance(parts: MaintenanceParts): Maintenance {
  const { config } = parts;
  const { ledgerFile, palaceDir, home, tag } = config.paths;
  const collection = config.collection();
  let looking: Promise<PalaceHealthReport> | undefined;
  const lookThrough = async (): Promise<PalaceHealthReport> => {
    const thread = await startRebuild(config);
    try {
      return await thread.call("lookThrough", { ledgerFile, palaceDir, collectionId: parts.collectionId() });
    } finally {
      await thread.close();
    }
  };
  const settle = (say: Say): Promise<string | undefined> =>
    whenAdopted(parts, "backup", say).then(
      () => undefined,
      (why: unknown) => {
        if (why instanceof PalaceError && why.code === "PALACE_LOCKED") return why.message;
        throw why;
      },
    );
  return {
    beginScheduled: (request, scheduled) => beginBackup(config, request, settle, scheduled),
    begin(request) {
      if (request.kind === "backup") return beginBackup(config, request, settle);
      if (request.kind === "verify") return beginVerify(config, request);
      return onThread(
        () => startRebuild(config),
        async (thread, say) => {
          if (request.kind === "compact") return compact(parts, say);
          await whenAdopted(parts, request.kind, say);
          if (request.kind === "repair") return repair(parts, thread, say);
          if (request.kind === "migrate") return migrate(parts, thread, request.dryRun);
          const { dir, chroma, partial = false } = request;
          const lastRow = parts.lastRow();
          const deadline = performance.now() + VECTORS_WAIT_MAX_MS;
          while (!partial && performance.now() < deadline) {
            say("waiting for vectors");
            if (await parts.embedded(lastRow, POLL_MS)) break;
          }
          say("");
          const from = { ledgerFile, palaceDir, collection, home, tag };
          return thread.call("exportPalace", { ...from, dir, chroma, lastRow, partial });
        },
      );
    },
    backups: () => listBackups(home),
    // This check reads the ledger and the public palace completely, so concurrent callers share one answer.
    lookThrough: () => (looking ??= lookThrough().finally(() => (looking = undefined))),
  };
}

/** Waits until foreign rows are adopted. A new broker first compares the palace with its ledger. Errors: PALACE_LOCKED. */
async function whenAdopted({ adopting }: MaintenanceParts, kind: JobKind, say: Say): Promise<void> {
  for (const deadline = performance.now() + SETTLE_MAX_MS; ; await sleep(POLL_MS)) {
    const why = adopting(kind);
    if (why === undefined) return;
    if (performance.now() > deadline) throw why;
    say("waiting until foreign rows are adopted");
  }
}

async function repair(parts: MaintenanceParts, thread: Thread<RebuildMethods>, say: Say): Promise<object> {
  const { writer } = parts;
  say("rebuilding the index of words");
  await writer.call("reindexWords");
  faultPoint("repair.after-words");
  say("rebuilding the other indexes");
  const { places, forgotten } = await writer.call("reindexCounts");
  const codes: number[] = [];
  for (let after = 0, more = true; more;) {
    const { written, next } = await writer.call("reindexCodes", after);
    codes.push(...written);
    more = next > 0;
    after = next;
  }
  await parts.onReindexed(codes);
  say("");
  const palace = await rebuildPublic(parts, thread, "repair");
  return { ledger: { placesCorrected: places, codesCorrected: codes.length, queuedAgain: forgotten }, ...palace };
}

/** Compacts only the ledger. Later writes to the public palace reuse the free pages of its file. */
async function compact({ writer }: MaintenanceParts, say: Say): Promise<object> {
  const { sizeBytes: beforeBytes } = await writer.call("ledgerSpace");
  say("rewriting the ledger");
  await writer.call("rewriteLedger");
  faultPoint("compact.after-rewrite");
  // From here on a cancellation has no effect, because the work is done.
  const { sizeBytes: afterBytes } = await writer.call("ledgerSpace");
  // False if a running search still reads the write-ahead log. The next checkpoint then moves the log's content into the file.
  const isLogCut = await writer.call("cutLog");
  return { beforeBytes, afterBytes, isLogCut };
}

async function migrate(parts: MaintenanceParts, thread: Thread<RebuildMethods>, dryRun: boolean): Promise<object> {
  const why = await thread.call("probePalace", parts.config.paths.palaceDir);
  if (why === null || dryRun) return { needed: why !== null, why };
  return { needed: true, why, ...(await rebuildPublic(parts, thread, "migrate")) };
}

/** Rebuilds the public palace. The files driver builds new files; a Chroma server gets all rows again. */
async function rebuildPublic(parts: MaintenanceParts, thread: Thread<RebuildMethods>, why: string): Promise<object> {
  const { config, writer, exclusively } = parts;
  const { ledgerFile, palaceDir, tag } = config.paths;
  if (config.driver === "none") return { driver: "none", palace: null };
  if (config.driver === "chroma") {
    await writer.call("resend", "all");
    return { driver: "chroma", palace: null };
  }
  const locked = parts.lockedBy();
  if (locked !== undefined) throw locked;
  const collectionId = parts.collectionId();
  const input = { ledgerFile, palaceDir, collection: config.collection(), tag, collectionId, why };
  return { driver: "files", palace: await exclusively(() => thread.call("repairPalace", input)) };
}

function startRebuild(config: Config): Promise<Thread<RebuildMethods>> {
  const data: RebuildThreadData = { fault: config.fault };
  return startThread<RebuildMethods>(threadFile(import.meta.url, "../../mempalace/rebuild/rebuild-thread"), data);
}

/** Checks a job's request. Errors: PROTOCOL_BAD_PARAMS; BROKER_DENIED for an export that does not come through the owner's socket. */
export function readJobRequest(params: Record<string, unknown>, { door }: Pick<Peer, "door">): JobRequest {
  const { kind, dir, chroma, partial } = params;
  if (kind === "export") {
    if (typeof dir !== "string" || !isAbsolute(dir)) throw badParams("dir must be an absolute path");
    if (chroma !== undefined && chroma !== null && typeof chroma !== "string") throw badParams("chroma must be a path");
    // The request names a program and a folder of this machine. An admin of the memory need not be a user of this machine.
    if (door !== "unix")
      throw denied("an export is made on the broker's machine, through its socket", "there: palace export DIR");
    return { kind, dir, partial: partial === true, ...(chroma !== undefined && { chroma }) };
  }
  if (kind === "backup") return readBackupRequest(params, { door });
  if (kind === "verify") return readVerifyRequest(params, { door });
  if (kind === "repair" || kind === "compact") return { kind };
  if (kind === "migrate") return { kind, dryRun: params["dryRun"] === true };
  throw badParams("there is no job of that kind");
}
