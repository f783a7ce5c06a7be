/** Wire types of the broker's reports about itself: `/health`, `palace.status`, `palace.health`. spec.ts uses them. */
import type { WireErrorData } from "../base/errors.ts";

export type Door = { kind: "unix"; path: string } | { kind: "tcp"; host: string; port: number };

/**
 * Door for programs that speak Roampal's HTTP API; `doors` does not list it. `isLocal`: programs of the broker's own user need no token.
 * `why`: the program that uses the port, or what the door needs.
 */
export type OutcomeDoorReport = { port: number; isLocal: boolean } & (
  | { state: "open" }
  | { state: "shut"; why: string; hint: string }
);

/** Door through which a peer came. An SSH bridge ends at the `gate`, and `ui` is the page in a browser. */
export type DoorName = Door["kind"] | "gate" | "ui";

/** Engine of the palace: the builtin one, or an MCP server that is the broker's child. */
export type EngineReport =
  | { kind: "builtin" }
  | {
      kind: "command";
      /** The program without its arguments, which may contain a secret. */
      program: string;
      state: "starting" | "ready" | "waiting" | "failed";
      /** Process id of the child; null if no child is running. */
      pid: number | null;
      /** Number of children that this broker has started. */
      generation: number;
      server: { name: string; version: string } | null;
      /** Number of failed starts and dead children since the last answer. */
      failures: number;
      /** The last error, even if it no longer applies. */
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
  /** Broker's clock at the answer. Older brokers do not send it. */
  nowMs?: number | undefined;
  engine: EngineReport;
  error?: { message: string } & WireErrorData;
};

/**
 * MemPalace's own lock of the palace. `held`: this broker has it. `waiting`: another process has it, so the broker does not write the
 * public palace. `none`: the lock cannot be taken here, not even by a MemPalace with this HOME.
 */
export type UpstreamLockStatus = { state: "held" | "waiting" | "none"; detail: string };

/**
 * Changes by foreign writers to the public palace, found by Chroma's sequence numbers. `looking`: the search is running; `unreadable`: the
 * palace cannot be read. In messages the report is named `strays`, for older clients.
 */
export type ForeignWritersReport = {
  state: "off" | "looking" | "clear" | "found" | "unreadable";
  /** Possible writers, or the reason why they are unknown. */
  detail: string;
  /** Number of foreign rows; `collections`: the rows' collections. */
  rows: number;
  collections: { name: string; rows: number }[];
  newestAtMs: number | null;
  /** Number of our drawers that other programs changed in the palace. */
  changed: number;
  /** Number of our drawers that were missing from the palace and that this broker sent again. */
  resent: number;
  /** Number of rows whose vector the palace's index has lost. */
  unindexed: number;
  /** Number of rows, changes and deletions by other programs that this broker has adopted into its ledger. */
  taken: number;
};

/** Progress of adopting the rows of an existing public palace. */
export type AdoptionReport = {
  /**
   * `verifying`: the broker compares palace and ledger. `refused`: palace and ledger differ; the broker compares again and writes nothing
   * to the palace.
   */
  state: "none" | "running" | "verifying" | "verified" | "refused";
  rows: number;
  /** Number of rows examined so far. */
  read: number;
  taken: number;
  /** Time when palace and ledger last had the same rows. */
  atMs: number | null;
  /** Further information: the reason of a refusal, or what happened to the palace's vectors. */
  detail: string;
  /** Advice after a refusal. */
  hint: string;
  /** Number of rows whose metadata has numbers that an export or a repair cannot write exactly. Older brokers do not send it. */
  inexact?: number;
};

/** Wing of the memory with which `palace up` proves that it works. The statistics leave out its search. */
export const PROOF_WING = "scratch_up";

/**
 * Counters of how agents used the memory: searches, by the quality of their answers; tokens (estimated) given at a session's start and with
 * prompts; memories shown with prompts; writes that waited for a broker and were stored later.
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

/** Requests of a method since the broker's start. Times are estimates from a histogram. */
export type MethodTimes = { method: string; calls: number; failed: number; p50Ms: number; p95Ms: number };

/**
 * Growth of the memory: its present drawers, by the time when they were filed. `unit`: the shortest unit that gives at most 62 periods, or
 * year. Periods without drawers are left out. `total` also counts earlier periods. `undated`: number of drawers with an unknown day.
 */
export type Growth = {
  unit: "day" | "month" | "year";
  undated: number;
  periods: { begins: string; filed: number; total: number }[];
};

/** Answer to `palace.stats`. `outcomes`: outcomes that memories got. Rates are 0…1, and null if there is nothing to count. */
export type StatsReport = {
  /** Beginning of the first counted day, ms; null for all time. */
  sinceMs: number | null;
  usage: UsageCounts;
  hitRate: number | null;
  outcomes: { worked: number; partial: number; failed: number };
  helpedRate: number | null;
  /** Growth of the memory. Older brokers do not send it. */
  growth?: Growth;
  startedAtMs: number;
  methods: MethodTimes[];
};

/** Answer to `palace.status`. */
export type StatusReport = {
  version: string;
  instanceId: string;
  pid: number;
  startedAtMs: number;
  topology: string;
  /** Doors of the broker. A client on another machine names one of these doors in MEMPALACE_BROKER. */
  doors: Door[];
  /** Absent if the outcome door is not set up. */
  outcomeDoor?: OutcomeDoorReport;
  home: string;
  /** Settings that differ from the defaults, as read at the broker's start. Older brokers do not send them. */
  settings?: { key: string; value: string; source: "environment" | "file"; variable?: string }[];
  state: Health["status"];
  error?: { message: string } & WireErrorData;
  /** With `command` the broker does not open the palace: drawers, wings, search and driver are absent. */
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
    /** State of the cross-encoder, which sorts the best hits again. Older brokers do not send it. */
    reranker?: { state: "ready" | "off" | "failed"; detail: string };
    embedded: number;
    pending: number;
    /** Estimated time until the pending drawers have their vectors, ms; null if unknown. Older brokers do not send it. */
    pendingMs?: number | null;
  };
  driver: {
    kind: "none" | "files" | "chroma" | "memory";
    state: "off" | "synced" | "syncing" | "waiting" | "unreachable";
    /** Number of drawers whose newest state is not in the public palace yet. */
    lag: number;
    /** Age of the oldest drawer in `lag`, ms. */
    lagMs: number;
    detail: string;
  };
  /** Closets. `lag`: number of closets that are not in the public palace yet; `pending`: number of closets without a vector yet. */
  closets: { count: number; pending: number; lag: number };
  /** The graph in upstream's files. `lag`: number of rows not written there yet. `takenOver`: number of adopted rows. */
  graph: {
    facts: number;
    state: "off" | "synced" | "syncing" | "unreachable";
    lag: number;
    /** Age of the oldest row of `lag`, ms. Older brokers do not send it. */
    lagMs?: number;
    takenOver: number;
    detail: string;
    /** Facts that a MemPalace has in a file that the broker does not read. Absent if there are none. */
    elsewhere?: { file: string; facts: number };
    /** File of hallways of MemPalace 3.12 and later. If it exists, the broker does not write `hallways.json`. */
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
  /** Number of drawers according to the counters of each wing and room. */
  counted: number;
  /** Number of drawers in the full-text index. */
  words: number;
  vectors: number;
  /** Number of quantized vectors, which a search reads first. */
  codes: number;
  pending: number;
  /** Number of drawers that have no vector and do not wait for one. */
  forgotten: number;
  /** "ok", or SQLite's message about the file. */
  integrity: string;
};

export type CollectionHealth = {
  name: string;
  rows: number;
  indexed: number;
  queued: number;
  /** Number of rows whose vector is neither in the index nor in the queue. */
  unindexed: number;
  segment: "whole" | "absent" | "torn";
  why: string;
  isMarkPoisoned: boolean;
  /** Distance function of the collections that we write, "cosine" or "l2"; null for other collections. */
  space: string | null;
  /** State, as upstream's probe names it (palace.md 10.4). */
  state: "OK" | "DIVERGED" | "UNKNOWN";
};

export type PublicHealth = {
  folder: string;
  /** "ok", "absent", or why the file cannot be read. */
  integrity: string;
  collections: CollectionHealth[];
  /** Differences from the ledger; null if none of the rows are ours. */
  difference: { missing: number; changed: number; foreign: number; awaited: number } | null;
  /** Index folders that we or MemPalace moved away, and palaces that a repair kept. */
  putAside: string[];
};

export type PalaceHealthReport = { ledger: LedgerHealth; palace: PublicHealth };

/**
 * Answer to `backup.list`. `isThere`: the file still exists. `file`: null if the backup went through a pipe. `failure`: why the last
 * scheduled backup failed.
 */
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

/** A token of the TCP door. `expiresAtMs`: null if it never expires. `usedAtMs`: null if unused since the broker's start. */
export type TokenReport = {
  name: string;
  role: "reader" | "agent" | "admin";
  createdAtMs: number;
  expiresAtMs: number | null;
  usedAtMs: number | null;
};

/** Writes that wait on this machine for a broker, and writes that a broker refused, oldest first. `totals`: their numbers. */
export type SpoolReport = {
  folder: string;
  waiting: { name: string; atMs: number; agent: string; tool: string }[];
  refused: { name: string; atMs: number; tool: string; why: string }[];
  /** Time when older refused writes were dropped to make room. */
  droppedAtMs: number | null;
  totals: { waiting: number; refused: number };
};
