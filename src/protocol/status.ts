/** What a broker tells of itself: `/health`, `palace.status`, `palace.health`. Shapes alone; spec.ts hands them on. */
import type { WireErrorData } from "./errors.ts";

export type Door = { kind: "unix"; path: string } | { kind: "tcp"; host: string; port: number };

/** How a peer came in; the gate is what an SSH bridge ends at. */
export type DoorName = Door["kind"] | "gate";

/** Who serves the palace: the broker's own engine, or an MCP server that is its child. */
export type EngineReport =
  | { kind: "builtin" }
  | {
      kind: "command";
      /** The program, without its arguments: they may hold a secret. */
      program: string;
      state: "starting" | "ready" | "waiting" | "failed";
      /** null: no child at the moment. */
      pid: number | null;
      /** Counts the children of this broker. */
      generation: number;
      /** Name and version that the child gave itself. */
      server: { name: string; version: string } | null;
      /** Starts that failed and children that died since the last answer. */
      failures: number;
      /** The last thing that went wrong, also when it is over. */
      lastError: ({ message: string; atMs: number } & WireErrorData) | null;
    };

/** `GET /health`. */
export type Health = {
  status: "opening" | "ready" | "failed" | "draining";
  instanceId: string;
  version: string;
  protocol: { min: number; max: number };
  topology: string;
  door: DoorName;
  startedAtMs: number;
  engine: EngineReport;
  error?: { message: string } & WireErrorData;
};

/**
 * MemPalace's own palace lock: ours for life; another's, so that the public palace waits; or none, because no MemPalace of
 * this HOME could take it either.
 */
export type UpstreamLockStatus = { state: "held" | "waiting" | "none"; detail: string };

/**
 * What others did to the public palace, found by its own sequence numbers: looking, nothing, something, or not to be told.
 */
export type StrayReport = {
  state: "off" | "looking" | "clear" | "found" | "unreadable";
  /** Who it may have been, or why it is not known. */
  detail: string;
  /** Rows that are not of this memory, and in which collections. */
  rows: number;
  collections: { name: string; rows: number }[];
  newestAtMs: number | null;
  /** Drawers of ours that others have changed there. */
  changed: number;
  /** Drawers of ours that were missing there and were sent again by this broker. */
  resent: number;
  /** Rows whose vector its index has lost. */
  unindexed: number;
  /** Rows of others, and changes and deletions by others, that this broker has taken over. */
  taken: number;
};

/** How far the rows of an existing public palace are in this memory. */
export type AdoptionReport = {
  /** `verifying`: palace and ledger are being compared. `refused`: that fails; it is tried again, and nothing is written there. */
  state: "none" | "running" | "verifying" | "verified" | "refused";
  /** Rows of the palace. */
  rows: number;
  /** Of them, looked at so far. */
  read: number;
  taken: number;
  /** When both sides last held the same, row by row. */
  atMs: number | null;
  /** What else is worth knowing: why it is refused, or what became of the palace's vectors. */
  detail: string;
  /** What to do about a refusal. */
  hint: string;
  /** Rows with a number that an export or a repair does not write as it stands; absent in reports of brokers before it. */
  inexact?: number;
};

/** `palace.status`. */
export type StatusReport = {
  version: string;
  instanceId: string;
  pid: number;
  startedAtMs: number;
  topology: string;
  /** Present when this broker serves another machine (MEMPALACE_BROKER is set there). */
  doors: Door[];
  home: string;
  state: Health["status"];
  error?: { message: string } & WireErrorData;
  /** With `command` the broker does not look into the palace: no drawers, wings, search and driver are told then. */
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
    modelState: "ready" | "loading" | "downloading" | "missing" | "failed" | "mismatch";
    modelDetail: string;
    /** The cross-encoder; older brokers say nothing of one. */
    reranker?: { state: "ready" | "off" | "failed"; detail: string };
    embedded: number;
    pending: number;
    /** When these will be embedded, ms from now; null where it cannot be told; a broker of before has none. */
    pendingMs?: number | null;
  };
  driver: {
    kind: "none" | "files" | "chroma" | "memory";
    state: "off" | "synced" | "syncing" | "waiting" | "unreachable";
    /** Drawers whose newest state the palace does not hold yet. */
    lag: number;
    /** Age of the oldest of them, ms. */
    lagMs: number;
    detail: string;
  };
  /** The index that points at drawers; `lag` are still to be written to the public palace, `pending` of them to be embedded. */
  closets: { count: number; pending: number; lag: number };
  /** The graph in upstream's files; `lag` rows are still to be written there, `takenOver` came from others. */
  graph: {
    facts: number;
    state: "off" | "synced" | "syncing" | "unreachable";
    lag: number;
    /** Age of the oldest of them, ms; a broker of before has none. */
    lagMs?: number;
    takenOver: number;
    detail: string;
    /** Facts that a MemPalace keeps in a file that is not read; absent where there are none. */
    elsewhere?: { file: string; facts: number };
  };
  upstreamLock: UpstreamLockStatus;
  strays: StrayReport;
  adoption: AdoptionReport;
};

export type LedgerHealth = {
  drawers: number;
  /** Drawers by the counts that are kept for each wing and room. */
  counted: number;
  /** Drawers in the full-text index. */
  words: number;
  vectors: number;
  /** Their short forms, which a search reads first. */
  codes: number;
  /** Drawers that wait for their vector. */
  pending: number;
  /** Drawers with neither a vector nor a place in that queue. */
  forgotten: number;
  /** "ok", or what SQLite says of the file. */
  integrity: string;
};

export type CollectionHealth = {
  name: string;
  rows: number;
  /** Vectors in its index on disk. */
  indexed: number;
  /** Writes that stand in the queue behind it. */
  queued: number;
  /** Rows whose vector is in neither. */
  unindexed: number;
  segment: "whole" | "absent" | "torn";
  why: string;
  isMarkPoisoned: boolean;
  /** How its index measures, "cosine" or "l2", of the collections that we write; of others null. */
  space: string | null;
  /** As upstream's probe has it (palace.md 10.4). */
  state: "OK" | "DIVERGED" | "UNKNOWN";
};

export type PublicHealth = {
  folder: string;
  /** "ok", "absent", or why it cannot be read. */
  integrity: string;
  collections: CollectionHealth[];
  /** Against the ledger; null: nothing there is ours. */
  difference: { missing: number; changed: number; foreign: number; awaited: number } | null;
  /** Index folders moved away, by us or by MemPalace, and palaces that a repair has kept. */
  putAside: string[];
};

/** `palace.health`. */
export type PalaceHealthReport = { ledger: LedgerHealth; palace: PublicHealth };
