/**
 * What is done to a whole palace: export it, build it anew, look through it. A composition root: the jobs meet the stores here.
 * Called by the route table (methods.ts) through the open palace.
 */
import { isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../config/config.ts";
import { faultPoint } from "../../platform/fault.ts";
import { startThread, type Thread, threadFile } from "../../platform/thread.ts";
import { BAD_PARAMS_HINT, PalaceError } from "../../protocol/errors.ts";
import type { JobKind, JobRequest, JsonObject, PalaceHealthReport } from "../../protocol/spec.ts";
import type { RebuildMethods, RebuildThreadData } from "../../public-palace/rebuild/rebuild-thread.ts";
import type { Peer } from "../peer.ts";
import { beginBackup, type BackupRequest, readBackupRequest } from "./backups.ts";
import type { JobProgress, JobWork } from "./jobs.ts";
import type { WriterMethods } from "./writer-thread.ts";

export type MaintenanceParts = {
  config: Config;
  /** The newest drawer's. */
  lastRow: () => number;
  /** Waits for the vectors of drawers up to that row; true when they are there, or will not come. */
  embedded: (lastRow: number, timeoutMs: number) => Promise<boolean>;
  /** Why the ledger does not hold all of the palace yet: others' rows are still being taken over. */
  unsettled: (kind: JobKind) => PalaceError | undefined;
  /** Another process that writes the public palace. */
  lockedBy: () => PalaceError | undefined;
  writer: Pick<Thread<WriterMethods>, "call">;
  /** The indexes outside the ledger take over what was made anew in it. */
  onReindexed: (rows: number[]) => Promise<void>;
  /** Nothing of ours writes the public palace while `work` is under way; then what became of it is looked at. */
  exclusively: <T>(work: () => Promise<T>) => Promise<T>;
  /** Of the drawers in the public palace, where we keep one. */
  collectionId: () => string | undefined;
};

export type Maintenance = {
  begin(request: JobRequest): JobWork;
  /** One that is due, into the folder for them. */
  beginScheduled(request: BackupRequest, scheduled: { scheduled: boolean; passphrase: string | undefined }): JobWork;
  lookThrough(): Promise<PalaceHealthReport>;
};

/** What is being done, as long as the thread says nothing. Errors: BROKER_CANCELLED. */
type Say = (step: string) => void;
type Work = (thread: Thread<RebuildMethods>, say: Say) => Promise<object>;

/** Waiting is done in pieces of it, so that it can be cancelled. */
const POLL_MS = 200;
const SETTLE_MAX_MS = 60_000;
/** What is exported should have all its vectors; who does not want to wait leaves them out. */
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
    settled(parts, "backup", say).then(
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
      const work: Work = async (thread, say) => {
        if (request.kind === "compact") return compact(parts, say);
        await settled(parts, request.kind, say);
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
      };
      return onThread(config, work);
    },
    // It reads both files from end to end: who asks meanwhile gets the same answer.
    lookThrough: () => (looking ??= lookThrough().finally(() => (looking = undefined))),
  };
}

/** A broker that has just begun looks through the palace first. Errors: PALACE_LOCKED. */
async function settled({ unsettled }: MaintenanceParts, kind: JobKind, say: Say): Promise<void> {
  for (const deadline = performance.now() + SETTLE_MAX_MS; ; await sleep(POLL_MS)) {
    const why = unsettled(kind);
    if (why === undefined) return;
    if (performance.now() > deadline) throw why;
    say("waiting until others' rows are taken over");
  }
}

async function repair(parts: MaintenanceParts, thread: Thread<RebuildMethods>, say: Say): Promise<object> {
  const { writer } = parts;
  say("making the index of words anew");
  await writer.call("reindexWords");
  faultPoint("repair.after-words");
  say("making the other indexes anew");
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

/** The ledger alone: free pages of the public palace are used again by its next writers. */
async function compact({ writer }: MaintenanceParts, say: Say): Promise<object> {
  const { sizeBytes: beforeBytes } = await writer.call("ledgerSpace");
  say("writing the ledger anew");
  await writer.call("rewriteLedger");
  faultPoint("compact.after-rewrite");
  // Nothing is cancelled from here on: what was asked for is done.
  const { sizeBytes: afterBytes } = await writer.call("ledgerSpace");
  // A search that is being answered still reads in the log; what is in it goes to the file with the next checkpoint.
  const isLogCut = await writer.call("cutLog");
  return { beforeBytes, afterBytes, isLogCut };
}

async function migrate(parts: MaintenanceParts, thread: Thread<RebuildMethods>, dryRun: boolean): Promise<object> {
  const why = await thread.call("probePalace", parts.config.paths.palaceDir);
  if (why === null || dryRun) return { needed: why !== null, why };
  return { needed: true, why, ...(await rebuildPublic(parts, thread, "migrate")) };
}

/** Where others keep the palace, in a server or not at all, there are no files to build: it is sent again, or left alone. */
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
  return startThread<RebuildMethods>(threadFile(import.meta.url, "../../public-palace/rebuild/rebuild-thread"), data);
}

/** Work on a thread that lives for it. */
function onThread(config: Config, work: Work): JobWork {
  let thread: Thread<RebuildMethods> | undefined;
  let step = "starting";
  let isCancelled = false;
  return {
    async run() {
      thread = await startRebuild(config);
      try {
        if (isCancelled) await thread.call("cancel");
        const say: Say = (now) => {
          step = now;
          if (isCancelled) throw new PalaceError("BROKER_CANCELLED", "it was cancelled; nothing was changed", "");
        };
        return (await work(thread, say)) as JsonObject;
      } finally {
        await thread.close();
        thread = undefined;
      }
    },
    async progress(): Promise<JobProgress> {
      const there = await thread?.call("progress");
      return there === undefined || there.total === 0 ? { step, done: 0, total: 0 } : there;
    },
    cancel() {
      isCancelled = true;
      void thread?.call("cancel").catch(() => {});
    },
  };
}

/** Errors: PROTOCOL_BAD_PARAMS; BROKER_DENIED for an export that does not come through the socket. */
export function readJobRequest(params: Record<string, unknown>, { door }: Pick<Peer, "door">): JobRequest {
  const refuse = (why: string): PalaceError => new PalaceError("PROTOCOL_BAD_PARAMS", why, BAD_PARAMS_HINT);
  const { kind, dir, chroma, partial } = params;
  if (kind === "export") {
    if (typeof dir !== "string" || !isAbsolute(dir)) throw refuse("dir must be an absolute path");
    if (chroma !== undefined && chroma !== null && typeof chroma !== "string") throw refuse("chroma must be a path");
    // It names a program and a folder of this machine: an admin of the memory need not be one who may run and write anything here.
    if (door !== "unix")
      throw new PalaceError(
        "BROKER_DENIED",
        "an export is made on the broker's machine, through its socket",
        "there: palace export DIR",
      );
    return { kind, dir, partial: partial === true, ...(chroma !== undefined && { chroma }) };
  }
  if (kind === "backup") return readBackupRequest(params, { door });
  if (kind === "repair" || kind === "compact") return { kind };
  if (kind === "migrate") return { kind, dryRun: params["dryRun"] === true };
  throw refuse("there is no job of that kind");
}
