/**
 * An open palace: ledger, indexes, model, backlog, outbox, wired together. The composition root of everything behind the
 * queue; the only file of broker, with writer-thread.ts, that sees the stores' implementations.
 */
import type { Config } from "../../config/config.ts";
import { searchTool } from "../../engine/search/search-tool.ts";
import type { ReadContext } from "../../engine/tools/read-tools.ts";
import { type Backlog, startBacklog } from "../../index/embedding/backlog.ts";
import { openLexicalIndex } from "../../index/lexical/lexical-index.ts";
import { openVectorIndex } from "../../index/vectors/vector-index.ts";
import { SqliteLedgerReader } from "../../ledger/read/reader.ts";
import type { Log } from "../../platform/log.ts";
import { goneError, rememberLedger } from "../../platform/marks.ts";
import { startThread, threadFile } from "../../platform/thread.ts";
import type { ForgetSelector } from "../../port/hygiene.ts";
import type { Changes } from "../../port/ledger.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { UNDO_KEPT_MS, UNDO_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import { createTakeOver } from "../../public-palace/adopt/adoption.ts";
import { modelOf } from "../../public-palace/adopt/model-of.ts";
import { startClosetKeeper } from "../../public-palace/closet-pump.ts";
import { driverVectorIndex } from "../../public-palace/driver/vector-index.ts";
import { type Erasure, startErasure } from "../../public-palace/erase/erasure.ts";
import { mayHold } from "../../public-palace/format/chroma-file.ts";
import { startGraphSync } from "../../public-palace/graph/sync.ts";
import { startOutbox } from "../../public-palace/outbox.ts";
import { startArrival } from "../../public-palace/reconcile/arrival.ts";
import { startWatch } from "../../public-palace/reconcile/reconciler.ts";
import { createSettingsStore } from "../../public-palace/settings-file.ts";
import { Jobs } from "./jobs.ts";
import { createMaintenance, type Maintenance } from "./maintenance.ts";
import { startModel } from "./model.ts";
import { guessWriter, openDriver, takingOver, writtenCollection } from "./public-palace.ts";
import { notCommitted, WriteQueue } from "./queue.ts";
import { whenQuiet } from "./quiet.ts";
import { sourceFiles } from "./source-files.ts";
import type { UpstreamLock } from "./upstream-lock.ts";
import { startWarmUp } from "./warm-up.ts";
import type { WriterData, WriterMethods } from "./writer-thread.ts";

export type PalaceStatus = Pick<
  StatusReport,
  "drawers" | "wings" | "ledgerSizeBytes" | "queue" | "search" | "driver" | "closets" | "graph" | "strays" | "adoption"
>;

export type Palace = {
  reads: ReadContext;
  queue: WriteQueue;
  jobs: Jobs;
  maintenance: Maintenance;
  hygiene: Hygiene;
  status(): PalaceStatus;
  /** Resolves when a palace that was here before this memory is taken over, or after a while. */
  arrived(): Promise<void>;
  /** Resolves when every accepted write is committed. */
  drain(): Promise<void>;
  /** Whether it may send has changed. */
  wakeOutbox(): void;
  close(): Promise<void>;
  /** Ends without touching the palace's files: they are gone, or another's by now. */
  abandon(): Promise<void>;
};

/** What a person asks of the memory besides its tools; looks only, the writes go through the queue. */
export type Hygiene = {
  previewForget(selector: ForgetSelector): Promise<Record<string, unknown>>;
  previewUndo(params: Record<string, unknown>): Promise<Record<string, unknown>>;
  erased: Erasure["settled"];
};

export type PalaceOptions = {
  config: Config;
  /** While another has it the public palace is left alone. */
  upstreamLock: Omit<UpstreamLock, "release">;
  log: Log;
  /** The ledger is gone or a thread of ours has died: the broker must end. */
  onFatal: (error: PalaceError) => void;
};

/** A model that is there is loaded by then; one that must be downloaded is not waited for. */
const MODEL_WAIT_MAX_MS = 10_000;

/** Of a group that failed as a whole. */
const NO_CHANGES: Changes = { added: 0, written: [], removed: [], graph: 0, closets: 0 };

const WARM_UP_TEXTS = 20;

/** A palace in which nobody writes is looked after, too. */
const PRUNE_MS = 3_600_000;

/** Errors: STORE_CORRUPT, STORE_READ_ONLY, PROTOCOL_VERSION_MISMATCH. */
export async function openPalace({ config, upstreamLock, log, onFatal }: PalaceOptions): Promise<Palace> {
  const { paths } = config;
  const { ledgerFile, graphFile, otherGraphFile, tunnelsFile, hallwaysFile, upstreamLocksDir } = paths;
  const retention = { auditMs: config.auditMs, undoMs: UNDO_KEPT_MS, imagesBytes: UNDO_SIZE_MAX_BYTES };
  // For as long as the broker lives, as upstream's server has it.
  const settings = { drawerSize: config.filing().cut.size };
  const data: WriterData = { ledgerFile, retention, settings, fault: config.fault };
  const writer = await startThread<WriterMethods>(threadFile(import.meta.url, "writer-thread"), data);
  const reader = new SqliteLedgerReader(ledgerFile);
  try {
    rememberLedger(paths);
  } catch (error) {
    // A full disk of ours must not keep anybody from the palace on another; the next start remembers it.
    log.warn("that this palace exists was not noted", { why: String(error) });
  }
  const graphOpening = startGraphSync({
    paths: { ledgerFile, graphFile, otherGraphFile, tunnelsFile, hallwaysFile, upstreamLocksDir },
    ledger: {
      isEmpty: () => reader.graph.isEmpty(),
      facts: () => reader.graph.facts(),
      pending: () => reader.graph.pending(),
      takeOver: (finding) => writer.call("takeOverGraph", finding),
      done: (rows) => writer.call("graphDone", rows),
    },
    log,
  });
  const lexical = await openLexicalIndex({ ledgerFile });
  const driver = openDriver(config, log, () => watch.isSettled());
  const local =
    config.vectors === "chroma" && driver?.kind === "chroma" ? undefined : await openVectorIndex({ ledgerFile });
  const vectors = local ?? driverVectorIndex({ driver: driver as NonNullable<typeof driver>, reader });

  let backlog: Backlog | undefined;
  const onFiled = async (changes: Changes): Promise<void> => {
    await vectors.refresh(changes);
    outbox?.wake();
    closets.wake();
  };
  const model = startModel({
    config: config.model,
    recorded: () => reader.meta("model"),
    onReady: (embedder) => {
      backlog = startBacklog({
        embedder: embedder.backlog,
        pending: (afterRow, limit) => reader.pendingTexts(afterRow, limit),
        file: (pending, id) => writer.call("storeVectors", pending, id),
        onFiled,
        log,
      });
      closets.embedWith(embedder.backlog);
    },
    log,
  });
  const lockedBy = (): PalaceError | undefined => {
    const error = upstreamLock.lockedBy();
    // A MemPalace in that folder is no concern of a palace elsewhere.
    if (error !== undefined && mayHold(paths.palaceDir, writtenCollection(reader))) return error;
    // What others have there is taken over before anything is written.
    return driver?.collectionId === undefined || watch.isSettled() ? undefined : takingOver(watch.adoption());
  };
  const outbox =
    driver === undefined
      ? undefined
      : startOutbox({
          driver,
          log,
          lockedBy,
          onState: ({ state, detail }) => log.info("public palace", { state, detail }),
          source: {
            peek: (limit) => reader.outboxEntries(limit),
            done: (entries) => writer.call("outboxDone", [...entries]),
            lag: () => reader.outboxLag(),
            retarget: (target) => writer.call("retarget", target),
          },
        });

  /** Nothing is sent to the public palace from the moment it resolves until its answer is called. */
  const hold = async (): Promise<() => void> => {
    const releases = [await outbox?.hold(), await closets.hold()];
    return () => releases.forEach((release) => release?.());
  };
  const wakeOutboxes = (): void => {
    outbox?.wake();
    closets.wake();
  };
  const watch = startWatch({
    palaceDir: paths.palaceDir,
    collection: config.collection(),
    ledgerFile,
    driver,
    seen: {
      read: () => reader.meta("palace_seen"),
      write: (text) => writer.call("putMeta", "palace_seen", text),
    },
    resend: async (ids) => {
      await writer.call("resend", ids);
      outbox?.wake();
    },
    resendClosets: async (ids) => {
      await writer.call("resendClosets", ids);
      closets.wake();
    },
    ...{ hold, isLocked: () => upstreamLock.lockedBy() !== undefined },
    takeOver: createTakeOver({
      palaceDir: paths.palaceDir,
      ledgerFile,
      file: async (batch, kind) => {
        if (kind === "drawers") return writer.call("takeOver", batch);
        const taken = await writer.call("takeOverClosets", batch);
        return { taken, changes: { ...NO_CHANGES, closets: taken } };
      },
      onFiled: async (changes) => {
        await vectors.refresh(changes);
        backlog?.wake();
        closets.wake();
        maintenance.wake();
      },
      setRecipe: (recipe) => writer.call("putMeta", "id_recipe", recipe),
      modelOf: async (samples) => {
        await model.settled(MODEL_WAIT_MAX_MS);
        const place = { palaceDir: paths.palaceDir, collection: config.collection() };
        return modelOf(samples, { ...place, recorded: reader.meta("model"), embedder: model.embedder()?.backlog });
      },
      log,
    }),
    onSettled: wakeOutboxes,
    guess: (recent) => guessWriter(recent, upstreamLock),
    log,
  });
  const closets = startClosetKeeper({
    reader,
    driver: driver && openDriver(config, log, () => watch.isSettled(), driver),
    // Drawers come first: their driver tells whether the palace is one that is still to be taken over.
    lockedBy: () => (driver?.collectionId === undefined ? takingOver(watch.adoption()) : lockedBy()),
    file: (pending, id) => writer.call("storeClosetVectors", pending, id),
    done: (entries) => writer.call("closetsDone", entries),
    retarget: (target) => writer.call("retargetClosets", target),
    log,
  });
  const arrival = startArrival(paths.palaceDir, reader.meta("palace_seen"), watch);
  void watch.look();

  const graph = await graphOpening;
  const maintenance = whenQuiet(() => writer.call("maintain"), log);
  const queue = new WriteQueue({
    commit: async (calls) => {
      try {
        const result = await writer.call("commit", calls);
        const gone = result.outcomes.find(
          ({ outcome }) => !outcome.ok && (outcome.error.data as { code?: string } | undefined)?.code === "PALACE_GONE",
        );
        if (gone !== undefined) onFatal(goneError(ledgerFile));
        return result;
      } catch (error) {
        // Only a dead thread throws here, and whether it had committed is not known: clients put the calls to the next broker.
        const known = new PalaceError("BROKER_SHUTTING_DOWN", "the ledger's writer ended", "repeat the call", {
          cause: error,
        });
        log.error("the ledger's writer ended", { why: String(error) });
        onFatal(known);
        return { outcomes: calls.map(() => notCommitted(known)), changes: NO_CHANGES };
      }
    },
    onCommit: (changes) => {
      if (changes.written.length + changes.removed.length > 0)
        void vectors
          .refresh(changes)
          .catch((error: unknown) => log.error("vector index not refreshed", { why: String(error) }));
      // Who waits for the answer comes first.
      setImmediate(() => {
        if (changes.graph > 0) graph.wake();
        if (changes.closets + changes.removed.length > 0) closets.wake();
        if (changes.removed.length + changes.graph > 0) erasure.wake();
        if (changes.added + changes.written.length + changes.removed.length === 0) return;
        backlog?.wake();
        outbox?.wake();
        maintenance.wake();
      });
    },
  });
  maintenance.wake();
  const pruning = setInterval(() => maintenance.wake(), PRUNE_MS).unref();
  const erasure = startErasure({
    pending: () => reader.erasures(),
    unsent: (ids) => reader.unsentAmong(ids),
    palace: {
      dir: paths.palaceDir,
      driver: driver?.kind ?? "none",
      ...{ hold, lockedBy },
      wake: wakeOutboxes,
      detail: () => outbox?.status().detail ?? "",
      isHere: () => driver?.kind === "files" || mayHold(paths.palaceDir, driver?.collectionId ?? ""),
    },
    graph: { file: paths.graphFile, unsent: () => reader.graph.pending().rows, wake: () => graph.wake() },
    ledger: {
      rewrite: () => writer.call("rewriteLedger"),
      cutLog: () => writer.call("cutLog"),
      done: (seq) => writer.call("erased", seq),
    },
    fault: config.fault,
    log,
  });

  const jobs = new Jobs(log);
  const maintenanceOfAll = createMaintenance({
    config,
    unsettled: (kind) =>
      watch.isSettled() || (kind !== "export" && watch.wasVerified()) ? undefined : takingOver(watch.adoption()),
    lockedBy: () => upstreamLock.lockedBy(),
    lastRow: () => reader.lastRow(),
    writer,
    onReindexed: async (rows) => {
      await vectors.refresh({ written: rows, removed: [] });
      backlog?.wake();
      maintenance.wake();
    },
    exclusively: async (work) => {
      const release = await hold();
      try {
        return await work();
      } finally {
        release();
        void watch.look();
      }
    },
    collectionId: () => driver?.collectionId,
    embedded: async (lastRow, timeoutMs) => {
      await model.settled(timeoutMs);
      await backlog?.settled(timeoutMs);
      const isComing = backlog !== undefined || ["loading", "downloading"].includes(model.state().modelState);
      const [oldest] = reader.pendingTexts(0, 1);
      return !isComing || oldest === undefined || oldest.row > lastRow;
    },
  });

  const reads: ReadContext = {
    reader,
    lexical,
    vectors,
    embedder: () => model.embedder(),
    embedderDetail: () => model.state().modelDetail,
    reranker: () => model.reranker(),
    rerankerDetail: () => model.rerankerState().detail,
    settings: createSettingsStore(paths.settingsDir),
    files: sourceFiles,
    ...{ ...settings, graph, arriving: () => arrival.detail() },
    settled: async (timeoutMs) => backlog?.settled(timeoutMs),
  };
  const endWarmUp = startWarmUp({
    search: (query) => searchTool({ ...reads, reranker: () => undefined }, { query }, "auto"),
    texts: () => reader.newestDrawers(undefined, WARM_UP_TEXTS).map(({ text }) => text),
    isBusy: () => queue.depth > 0 || model.state().modelState === "loading" || reader.pendingTexts(0, 1).length > 0,
    log,
  });
  return {
    reads,
    queue,
    jobs,
    maintenance: maintenanceOfAll,
    hygiene: {
      previewForget: (selector) => writer.call("previewForget", selector),
      previewUndo: (params) => writer.call("previewUndo", params),
      erased: (timeoutMs) => erasure.settled(timeoutMs),
    },
    status: () => ({
      drawers: reader.drawerCount(),
      wings: new Set(reader.places().map(({ wing }) => wing)).size,
      ledgerSizeBytes: reader.sizeBytes(),
      queue: { depth: queue.depth, depthMax: queue.depthMax, acknowledged: queue.acknowledged, refused: queue.refused },
      search: {
        mode: model.embedder() === undefined ? "lexical" : "hybrid",
        vectors: local === undefined ? "chroma" : "local",
        ...model.state(),
        reranker: model.rerankerState(),
        ...reader.embeddingCounts(),
      },
      driver: {
        kind: driver?.kind ?? "none",
        ...(outbox?.status() ?? { state: "off" as const, lag: 0, lagMs: 0, detail: "no public palace is kept" }),
      },
      closets: closets.status(),
      graph: graph.status(),
      strays: watch.status(),
      adoption: watch.adoption(),
    }),
    arrived: () => arrival.settled(),
    wakeOutbox: wakeOutboxes,
    drain: () => queue.drain(),
    abandon: () => {
      endWarmUp();
      return model.close();
    },
    async close() {
      endWarmUp();
      await jobs.close();
      await queue.drain();
      clearInterval(pruning);
      maintenance.stop();
      await erasure.stop();
      await Promise.all([outbox?.stop(), backlog?.stop(), closets.stop(), graph.stop(), model.close()]);
      await watch.stop();
      await Promise.all([lexical.close(), local?.close()]);
      reader.close();
      await writer.call("close");
      await writer.close();
    },
  };
}
