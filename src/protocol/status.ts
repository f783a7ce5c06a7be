/** Wire types of the broker's reports about itself. */
import type { WireErrorData } from "../base/errors.ts";

export type Door = { kind: "unix"; path: string } | { kind: "tcp"; host: string; port: number };

/** Port for programs that use Roampal's HTTP API. `isLocal`: programs of the broker's own user need no token. */
export type OutcomeDoorReport = { port: number; isLocal: boolean } & (
  | { state: "open" }
  | { state: "shut"; why: string; hint: string }
);

/** Door that a peer uses. `gate`: the end of an SSH bridge. `ui`: the page in a browser. */
export type DoorName = Door["kind"] | "gate" | "ui";

/** Engine of the palace: the builtin one, or an MCP server that the broker runs as a child process. */
export type EngineReport =
  | { kind: "builtin" }
  | {
      kind: "command";
      /** Program without its arguments, because these may contain a secret. */
      program: string;
      state: "starting" | "ready" | "waiting" | "failed";
      pid: number | null;
      /** Number of child processes that this broker has started. */
      generation: number;
      server: { name: string; version: string } | null;
      /** Number of failed starts and crashes since the child's last answer. */
      failures: number;
      /** Last error, even if the child works again. */
      lastError: ({ message: string; atMs: number } & WireErrorData) | null;
    };

/** Answer to `GET /health`. */
export type Health = {
  status: "opening" | "ready" | "failed" | "draining";
  instanceId: string;
  version: string;
  protocol: { min: number; max: number };
  topology: string;
  door: DoorName;
  startedAtMs: number;
  /** Time on the broker's clock. Older brokers do not send it. */
  nowMs?: number | undefined;
  engine: EngineReport;
  error?: { message: string } & WireErrorData;
};

/** MemPalace's own lock. `waiting`: another process has it, so the broker does not write the public palace. `none`: see `detail`. */
export type UpstreamLockStatus = { state: "held" | "waiting" | "none"; detail: string };

/** Changes by foreign writers to the public palace. `looking`: the reconciler is still searching. */
export type ForeignWritersReport = {
  state: "off" | "looking" | "clear" | "found" | "unreadable";
  /** Possible writers, or why they are unknown. */
  detail: string;
  /** Number of foreign rows in all `collections`. */
  rows: number;
  collections: { name: string; rows: number }[];
  newestAtMs: number | null;
  /** Number of our drawers that foreign writers changed in the public palace. */
  changed: number;
  /** Number of our drawers that were missing from the public palace and that this broker wrote again. */
  resent: number;
  /** Number of rows whose vector the public palace's index has lost. */
  unindexed: number;
  /** Number of rows, changes and deletions that this broker has adopted. */
  taken: number;
};

/** Progress of adopting the rows of an existing public palace. */
export type AdoptionReport = {
  /** `verifying`: the broker compares palace and ledger. `refused`: it could not, so it writes nothing to the palace. */
  state: "none" | "running" | "verifying" | "verified" | "refused";
  rows: number;
  /** Number of rows read so far. */
  read: number;
  taken: number;
  /** Time when palace and ledger last had the same rows. */
  atMs: number | null;
  /** Why the state is `refused`, or what happened to the palace's vectors. */
  detail: string;
  /** Advice if the state is `refused`. */
  hint: string;
  /** Number of rows with numbers in their metadata that an export or repair would round. Older brokers do not send it. */
  inexact?: number;
};

/** Wing of the test memory with which `palace up` proves that the palace works. The statistics leave out searches in it. */
export const PROOF_WING = "scratch_up";

/**
 * Counters of how agents used the memory: searches by the quality of their answers, estimated tokens added at a session's start and to
 * prompts, memories shown with prompts, and writes delivered from the spool.
 */
export const USAGE_NAMES = [
  "searchesGood",
  "searchesWeak",
  "searchesNone",
  "tokensStart",
  "tokensPrompt",
  "memoriesShown",
  "writesLate",
] as const;
export type UsageCounts = Record<(typeof USAGE_NAMES)[number], number>;

/** Requests of a method since the broker's start. The percentiles are estimates from a histogram. */
export type MethodTimes = { method: string; calls: number; failed: number; p50Ms: number; p95Ms: number };

/** Drawers by time of filing, in the shortest unit with at most 62 periods. `total`: number up to the period's end. */
export type Growth = {
  unit: "day" | "month" | "year";
  undated: number;
  periods: { begins: string; filed: number; total: number }[];
};

/** Answer to `palace.stats`. `outcomes`: numbers of outcomes that memories got. Rates are 0…1, or null without data. */
export type StatsReport = {
  /** Beginning of the first counted day, ms since 1970; null for all time. */
  sinceMs: number | null;
  usage: UsageCounts;
  hitRate: number | null;
  outcomes: { worked: number; partial: number; failed: number };
  helpedRate: number | null;
  /** Older brokers do not send it. */
  growth?: Growth;
  startedAtMs: number;
  methods: MethodTimes[];
};

export type StatusReport = {
  version: string;
  instanceId: string;
  pid: number;
  startedAtMs: number;
  topology: string;
  doors: Door[];
  /** Absent if no port for Roampal's HTTP API is configured. */
  outcomeDoor?: OutcomeDoorReport;
  home: string;
  /** Settings with which the broker started and that differ from the defaults. Older brokers do not send them. */
  settings?: { key: string; value: string; source: "environment" | "file"; variable?: string }[];
  state: Health["status"];
  error?: { message: string } & WireErrorData;
  /** With kind `command`, the report has no drawers, wings, search and driver, because the engine itself opens the palace. */
  engine: EngineReport;
  drawers: number;
  wings: number;
  /** Size of the ledger with its write-ahead log, bytes. */
  ledgerSizeBytes: number;
  peers: number;
  queue: { depth: number; depthMax: number; acknowledged: number; refused: number };
  search: {
    mode: "lexical" | "hybrid";
    vectors: "local" | "chroma";
    model: string | null;
    modelState: "ready" | "extra" | "loading" | "downloading" | "missing" | "failed" | "mismatch";
    modelDetail: string;
    /** Cross-encoder, which sorts the best hits again. Older brokers do not send it. */
    reranker?: { state: "ready" | "off" | "failed"; detail: string };
    embedded: number;
    pending: number;
    /** Estimated time until all pending drawers have vectors, ms; null if unknown. Older brokers do not send it. */
    pendingMs?: number | null;
  };
  driver: {
    kind: "none" | "files" | "chroma" | "memory";
    state: "off" | "synced" | "syncing" | "waiting" | "unreachable";
    /** Number of drawers whose newest state is not in the public palace yet. */
    lag: number;
    /** Age of the oldest drawer that `lag` counts, ms. */
    lagMs: number;
    detail: string;
  };
  /** `pending`: number of closets without a vector yet. `lag`: number of closets that are not in the public palace yet. */
  closets: { count: number; pending: number; lag: number };
  /** Knowledge graph. `lag`: number of rows that are not in upstream's files yet. `takenOver`: number of adopted rows. */
  graph: {
    facts: number;
    state: "off" | "synced" | "syncing" | "unreachable";
    lag: number;
    /** Age of the oldest row that `lag` counts, ms. Older brokers do not send it. */
    lagMs?: number;
    takenOver: number;
    detail: string;
    /** Facts of a MemPalace in a file that the broker does not read. Absent if there are none. */
    elsewhere?: { file: string; facts: number };
    /** Hallways file of MemPalace 3.12 or later. If set, the broker does not write `hallways.json`. */
    newer?: string;
  };
  /** Counters for all time. Older brokers do not send them. */
  usage?: UsageCounts;
  upstreamLock: UpstreamLockStatus;
  strays: ForeignWritersReport;
  adoption: AdoptionReport;
};

export type LedgerHealth = {
  drawers: number;
  /** Sum of the ledger's counters of drawers, one for each room. It differs from `drawers` if a counter is wrong. */
  counted: number;
  /** Number of drawers in the full-text index. */
  words: number;
  vectors: number;
  /** Number of quantized vectors. */
  codes: number;
  pending: number;
  /** Number of drawers that neither have a vector nor wait for one. */
  forgotten: number;
  /** "ok", or the error that SQLite reports about the file. */
  integrity: string;
};

export type CollectionHealth = {
  name: string;
  rows: number;
  indexed: number;
  queued: number;
  /** Number of rows whose vector is neither in the index nor queued for it. */
  unindexed: number;
  segment: "whole" | "absent" | "torn";
  why: string;
  isMarkPoisoned: boolean;
  /** Distance function of the collections that we write, "cosine" or "l2"; null for other collections. */
  space: string | null;
  /** State as upstream's health check reports it (palace.md 10.4). */
  state: "OK" | "DIVERGED" | "UNKNOWN";
};

export type PublicHealth = {
  folder: string;
  /** "ok", "absent", or why the file cannot be read. */
  integrity: string;
  collections: CollectionHealth[];
  /** Numbers of rows that differ from the ledger; null if the palace cannot be compared. `awaited`: rows in the outbox. */
  difference: { missing: number; changed: number; foreign: number; awaited: number } | null;
  /** Index folders that this broker or MemPalace renamed because of damage, and former palaces that a repair kept. */
  putAside: string[];
};

export type PalaceHealthReport = { ledger: LedgerHealth; palace: PublicHealth };

/** Answer to `backup.list`. `file`: null if the backup was written to stdout. `failure`: null unless the last scheduled backup failed. */
export type BackupsReport = {
  backups: {
    file: string | null;
    madeAtMs: number;
    bytes: number;
    encrypted: boolean;
    scheduled: boolean;
    isThere: boolean;
  }[];
  schedule: {
    dir: string;
    hours: number;
    keep: number;
    failure: { atMs: number; message: string; hint: string } | null;
  } | null;
};

/** Token of the TCP door. `expiresAtMs`: null if it never expires. `usedAtMs`: null if unused since the broker's start. */
export type TokenReport = {
  name: string;
  role: "reader" | "agent" | "admin";
  createdAtMs: number;
  expiresAtMs: number | null;
  usedAtMs: number | null;
};

/** Writes in this machine's spool, oldest first. `waiting` and `refused` are limited; `totals` counts all writes. */
export type SpoolReport = {
  folder: string;
  waiting: { name: string; atMs: number; agent: string; tool: string }[];
  refused: { name: string; atMs: number; tool: string; why: string }[];
  /** Time when refused writes were last deleted to make room, ms; null if never. */
  droppedAtMs: number | null;
  totals: { waiting: number; refused: number };
};
