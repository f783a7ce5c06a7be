/** Opens a palace's ledger, indexes, public palace, graph and write queue, in this order, and closes them in reverse. */
import { dirname, join } from "node:path";
import type { Config } from "../../config/config.ts";
import { searchTool } from "../../memory/search/search-tool.ts";
import { outcomeAdjustments } from "../../learning/search/drawer-adjustment.ts";
import { Searches } from "../../learning/search/recent-searches.ts";
import type { ReadContext } from "../tools/reads.ts";
import { trimMemory } from "../../base/libc.ts";
import type { Log } from "../../base/log.ts";
import { stagingHome } from "../../base/staging.ts";
import type { ForgetSelector } from "../../memory/port/hygiene.ts";
import type { PalaceError } from "../../base/errors.ts";
import type { AuditPage, AuditRequest } from "../../protocol/hygiene.ts";
import type { ImportPart, MergeReport } from "../../protocol/import.ts";
import { type Erasure, startErasure } from "../../mempalace/erase/erasure.ts";
import { isMadeByChroma, mayHold } from "../../mempalace/format/chroma-file.ts";
import { type GraphSync, LINKS_FOLDER, startGraphSync } from "../../mempalace/graph/sync.ts";
import { createSettingsStore } from "../../mempalace/settings-file.ts";
import type { PalaceStatus } from "../engine.ts";
import { startAgeing } from "./ageing.ts";
import { startSchedule } from "./backups.ts";
import { type OpenIndexes, openIndexes } from "./indexes.ts";
import { Jobs } from "./jobs.ts";
import { type OpenLedger, openLedger } from "./ledger.ts";
import { Logstream } from "./logstream.ts";
import { createMaintenance, type Maintenance } from "./maintenance.ts";
import { boundHeapGrowth, startMemoryRelease } from "./heap.ts";
import { PublicPalace } from "./public-palace.ts";
import { ledgerQueue, watchPresence, type WriteQueue } from "./write-queue.ts";
import { whenQuiet } from "./deferred-work.ts";
import { openSourceFiles } from "./source-files.ts";
import type { UpstreamLock } from "./upstream-lock.ts";
import { Wakes } from "./wake-up-calls.ts";
import { startWarmUp } from "./warm-up.ts";

export type Palace = {
  reads: ReadContext;
  queue: WriteQueue;
  jobs: Jobs;
  maintenance: Maintenance;
  hygiene: Hygiene;
  logstream: Logstream;
  status(): PalaceStatus;
  /** Resolves when an existing public palace is adopted, or after a time limit. */
  adopted(): Promise<void>;
  /** Resolves when every accepted write is committed. */
  drain(): Promise<void>;
  /** Call this when the permission to write the public palace has changed. */
  wakeOutbox(): void;
  close(): Promise<void>;
  abandon(): Promise<void>;
};

/** Previews and checks of clean-up work. The writes themselves go through the queue. */
export type Hygiene = {
  previewForget(selector: ForgetSelector): Promise<Record<string, unknown>>;
  previewUndo(params: Record<string, unknown>): Promise<Record<string, unknown>>;
  previewImport(part: ImportPart): Promise<MergeReport>;
  audit(request: AuditRequest): AuditPage;
  erased: Erasure["settled"];
};

export type PalaceOptions = {
  config: Config;
  upstreamLock: Omit<UpstreamLock, "release">;
  log: Log;
  /** Called when the ledger is lost or one of our threads has died. The broker must then end. */
  onFatal: (error: PalaceError) => void;
};

type Parts = PalaceOptions & {
  ledger: OpenLedger;
  indexes: OpenIndexes;
  publicPalace: PublicPalace;
  graph: GraphSync;
  wakes: Wakes;
};

const WARM_UP_TEXTS = 20;

/** Time between two runs of the ledger's maintenance (which prunes old rows) if no write causes one. */
const PRUNE_MS = 3_600_000;

/** If a part fails to open, the earlier parts are closed. Errors: STORE_CORRUPT, STORE_READ_ONLY, PROTOCOL_VERSION_MISMATCH. */
export async function openPalace(options: PalaceOptions): Promise<Palace> {
  const { config, log, onFatal, upstreamLock } = options;
  await using opening = new AsyncDisposableStack();
  const wakes = new Wakes();
  const ledger = await openLedger(config, log, opening);
  const graphOpening = openGraph(config, log, ledger);
  opening.defer(async () => (await graphOpening).stop());
  const publicPalace = new PublicPalace({ config, log, ledger, upstreamLock, wakes });
  const indexes = openIndexes({ config, log, ledger, driver: publicPalace.driver, wakes }, opening);
  publicPalace.start(indexes, opening);
  const graph = await graphOpening;
  wakes.on("graph", () => graph.wake());

  const parts: Parts = { ...options, ledger, indexes, publicPalace, graph, wakes };
  const erasure = openErasure(parts, opening);
  startUpkeep(parts, opening);
  const { ledgerFile } = config.paths;
  const watched = { writer: ledger.writer, ledgerFile, log, onFatal };
  opening.defer(watchPresence(() => ledger.writer.call("assertPresent"), watched));
  const queue = ledgerQueue({ ...watched, vectors: indexes.vectors, wakes });
  opening.defer(() => queue.drain());
  const logstream = openLogstream(parts, opening);
  const jobs = new Jobs(log);
  opening.defer(() => jobs.close());
  const maintenance = wholePalace(parts);
  opening.defer(schedule(parts, jobs, maintenance, queue));
  const reads = readContext(parts);
  opening.defer(startAgeing({ ...ledger, queue, log }));
  const endWarmUp = warmUp(parts, reads, queue);
  opening.defer(endWarmUp);

  const closing = opening.move();
  return {
    reads,
    queue,
    jobs,
    maintenance,
    hygiene: {
      previewForget: (selector) => ledger.writer.call("previewForget", selector),
      previewUndo: (params) => ledger.writer.call("previewUndo", params),
      previewImport: (part) => ledger.writer.call("previewImport", part),
      audit: (request) => ledger.reader.journal.page(request),
      erased: (timeoutMs) => erasure.settled(timeoutMs),
    },
    logstream,
    status: () => status(parts, queue),
    adopted: () => publicPalace.adoptionWait.settled(),
    wakeOutbox: () => wakes.wake("outbox", "closets"),
    drain: async () => {
      logstream.endWaits();
      await Promise.all([queue.drain(), logstream.queue.drain()]);
    },
    abandon: () => {
      endWarmUp();
      logstream.endWaits();
      return indexes.model.close();
    },
    close: () => closing.disposeAsync(),
  };
}

function openGraph({ paths }: Config, log: Log, { reader, writer }: OpenLedger): Promise<GraphSync> {
  const { ledgerFile, graphFile, otherGraphFile, tunnelsFile, hallwaysFile, upstreamLocksDir } = paths;
  return startGraphSync({
    paths: { ledgerFile, graphFile, otherGraphFile, tunnelsFile, hallwaysFile, upstreamLocksDir },
    ledger: {
      isEmpty: () => reader.graph.isEmpty(),
      facts: () => reader.graph.facts(),
      pending: () => reader.graph.pending(),
      adopt: (finding) => writer.call("adoptGraph", finding),
      done: (rows) => writer.call("graphDone", rows),
      folder: {
        read: () => reader.meta(LINKS_FOLDER),
        write: (folder) => writer.call("putMeta", LINKS_FOLDER, folder),
      },
    },
    log,
  });
}

function openLogstream({ config, log, onFatal }: Parts, closing: AsyncDisposableStack): Logstream {
  const { palaceDir, ledgerFile, upstreamLocksDir } = config.paths;
  const logstream = new Logstream({
    paths: { palaceDir, ledgerFile },
    serversDir: join(dirname(upstreamLocksDir), "server"),
    keptMs: config.journalRetentionMs,
    fault: config.fault,
    log,
    onFatal,
  });
  closing.defer(() => logstream.close());
  closing.defer(watchPresence(() => logstream.assertPresent(), { ledgerFile, onFatal }));
  return logstream;
}

/** Starts the background work that erases forgotten texts from all files. */
function openErasure(parts: Parts, closing: AsyncDisposableStack): Erasure {
  const { config, log, ledger, publicPalace, graph, wakes } = parts;
  const { reader, writer } = ledger;
  const { driver } = publicPalace;
  const { palaceDir } = config.paths;
  const erasure = startErasure({
    pending: () => reader.erasures(),
    unsent: (ids) => reader.unsentAmong(ids),
    awaiting: (ids) => reader.awaitingVector(ids),
    palace: {
      dir: palaceDir,
      driver: driver?.kind ?? "none",
      hold: () => publicPalace.hold(),
      lockedBy: () => publicPalace.lockedBy(),
      wake: () => wakes.wake("outbox", "closets"),
      detail: () => (driver === undefined ? "" : (publicPalace.status().driver.detail ?? "")),
      isHere: () => driver?.kind === "files" || mayHold(palaceDir, driver?.collectionId ?? ""),
    },
    graph: { file: config.paths.graphFile, unsent: () => reader.graph.pending().rows, wake: () => graph.wake() },
    ledger: {
      rewrite: () => writer.call("rewriteLedger"),
      cutLog: () => writer.call("cutLog"),
      done: (seq) => writer.call("erased", seq),
    },
    fault: config.fault,
    log,
  });
  wakes.on("erasure", () => erasure.wake());
  closing.defer(() => erasure.stop());
  return erasure;
}

/** Starts the ledger's maintenance in pauses between writes, and the release of memory after heavy work. */
function startUpkeep(parts: Parts, closing: AsyncDisposableStack): void {
  const { log, ledger, wakes } = parts;
  closing.defer(releaseMemory(parts));
  const upkeep = whenQuiet(() => ledger.writer.call("maintain"), log);
  wakes.on("upkeep", () => upkeep.wake());
  upkeep.wake();
  const pruning = setInterval(() => upkeep.wake(), PRUNE_MS).unref();
  closing.defer(() => {
    clearInterval(pruning);
    upkeep.stop();
  });
}

function releaseMemory({ ledger, log }: Parts): () => void {
  const release = async (): Promise<void> => {
    ledger.reader.shrinkCache();
    await ledger.writer.call("shrinkCache");
    const beforeBytes = process.memoryUsage.rss();
    const startedAt = performance.now();
    trimMemory();
    const tookMs = Math.round(performance.now() - startedAt);
    log.debug("memory was given back", { beforeBytes, afterBytes: process.memoryUsage.rss(), tookMs });
  };
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  boundHeapGrowth();
  return startMemoryRelease({ release, cpuMs, residentBytes: () => process.memoryUsage.rss(), log });
}

function wholePalace({ config, upstreamLock, ledger, indexes, publicPalace, wakes }: Parts): Maintenance {
  const { reader, writer } = ledger;
  const { model, vectors, backlog } = indexes;
  return createMaintenance({
    config,
    adopting: (kind) => {
      const { watch } = publicPalace;
      return watch.isSettled() || (kind !== "export" && kind !== "backup" && watch.wasVerified())
        ? undefined
        : publicPalace.adopting();
    },
    lockedBy: () => upstreamLock.lockedBy(),
    lastRow: () => reader.lastRow(),
    writer,
    onReindexed: async (rows) => {
      await vectors.refresh({ written: rows, removed: [] });
      wakes.wake("backlog", "upkeep");
    },
    exclusively: async (work) => {
      const release = await publicPalace.hold();
      try {
        return await work();
      } finally {
        release();
        void publicPalace.watch.look();
      }
    },
    collectionId: () => publicPalace.driver?.collectionId,
    embedded: async (lastRow, timeoutMs) => {
      await model.ready(timeoutMs);
      await backlog()?.settled(timeoutMs);
      const isComing = backlog() !== undefined || ["loading", "downloading"].includes(model.state.modelState);
      const [oldest] = reader.pendingTexts(0, 1);
      return !isComing || oldest === undefined || oldest.row > lastRow;
    },
  });
}

function schedule({ config, log }: Parts, jobs: Jobs, maintenance: Maintenance, queue: WriteQueue): () => void {
  return startSchedule({
    ...{ config, jobs, log, isBusy: () => queue.depth > 0 },
    begin: (request, scheduled) => maintenance.beginScheduled(request, scheduled),
  });
}

function readContext({ config, ledger, indexes, publicPalace, graph }: Parts): ReadContext {
  const { model } = indexes;
  const adopting = (): string | undefined => publicPalace.adoptionWait.detail();
  return {
    reader: ledger.reader,
    // Until the adoption has filed a first drawer, reads answer that the palace does not exist yet, and mention the adoption.
    isFounded: () =>
      ledger.reader.everHeldDrawers() || (adopting() === undefined && isMadeByChroma(config.paths.palaceDir)),
    lexical: indexes.lexical,
    vectors: indexes.vectors,
    embedder: () => model.embedder,
    embedderDetail: () => model.state.modelDetail,
    isModelWanted: () => model.state.modelState !== "extra",
    reranker: () => model.reranker,
    rerankerDetail: () => model.rerankerState.detail,
    adjustByOutcomes: outcomeAdjustments,
    settings: createSettingsStore(config.paths.settingsDir),
    files: openSourceFiles(stagingHome(config.paths.cacheDir)),
    ...ledger.settings,
    graph,
    adopting,
    searches: new Searches(),
    settled: async (timeoutMs) => indexes.backlog()?.settled(timeoutMs),
  };
}

/** Starts searches that warm up the threads. They run only while no write waits, no model loads and no vectors are computed. */
function warmUp({ ledger: { reader }, indexes, log }: Parts, reads: ReadContext, queue: WriteQueue): () => void {
  const { model, backlog } = indexes;
  const isEmbedding = (): boolean => backlog() !== undefined && reader.pendingTexts(0, 1).length > 0;
  return startWarmUp({
    search: (query) => searchTool({ ...reads, reranker: () => undefined }, { query }, "auto"),
    texts: () => reader.newestDrawers(undefined, WARM_UP_TEXTS).map(({ text }) => text),
    isBusy: () => queue.depth > 0 || model.state.modelState === "loading" || isEmbedding(),
    log,
  });
}

function status({ ledger, indexes, publicPalace, graph }: Parts, queue: WriteQueue): PalaceStatus {
  const { reader } = ledger;
  const { model, vectorsAt, backlog } = indexes;
  const embedding = reader.embeddingCounts();
  return {
    drawers: reader.drawerCount(),
    wings: new Set(reader.places().map(({ wing }) => wing)).size,
    ledgerSizeBytes: reader.sizeBytes(),
    queue: { depth: queue.depth, depthMax: queue.depthMax, acknowledged: queue.acknowledged, refused: queue.refused },
    search: {
      mode: model.embedder === undefined ? "lexical" : "hybrid",
      vectors: vectorsAt,
      ...model.state,
      reranker: model.rerankerState,
      ...embedding,
      pendingMs: backlog()?.expectedMs(embedding.pending) ?? null,
    },
    ...publicPalace.status(),
    graph: graph.status(),
  };
}
