/** The broker's reports about itself: `/health`, `palace.status`, `palace.health`. Shapes alone; spec.ts uses them. */
import type { WireErrorData } from "../base/errors.ts";

export type Door = { kind: "unix"; path: string } | { kind: "tcp"; host: string; port: number };

/**
 * Door for programs that speak Roampal's HTTP API; never among `doors`. `isLocal`: programs of the broker's own user need no token.
 * `why`: the program that has its port, or what the door lacks.
 */
export type OutcomeDoorReport = { port: number; isLocal: boolean } & (
  | { state: "open" }
  | { state: "shut"; why: string; hint: string }
);

/** The door through which a peer came; an SSH bridge ends at the gate, and `ui` is the page in the owner's browser. */
export type DoorName = Door["kind"] | "gate" | "ui";

/** The engine that serves the palace: the builtin one, or an MCP server that is the broker's child. */
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
      /** The last error, also when it is over. */
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
  /** The broker's clock when it answered; absent in answers of older brokers. */
  nowMs?: number | undefined;
  engine: EngineReport;
  error?: { message: string } & WireErrorData;
};

/**
 * MemPalace's own palace lock: held by this broker; held by another, so that the public palace waits; or none, because
 * no MemPalace of this HOME could take it either.
 */
export type UpstreamLockStatus = { state: "held" | "waiting" | "none"; detail: string };

/**
 * Foreign writers' changes to the public palace, found by its own sequence numbers. The states are: looking, nothing, something, or
 * unknown. The wire name `strays` stays for older clients.
 */
export type ForeignWritersReport = {
  state: "off" | "looking" | "clear" | "found" | "unreadable";
  /** Possible writers, or the reason why they are unknown. */
  detail: string;
  /** Foreign rows, and their collections. */
  rows: number;
  collections: { name: string; rows: number }[];
  newestAtMs: number | null;
  /** Drawers of ours that others have changed there. */
  changed: number;
  /** Drawers of ours that were missing there and were sent again by this broker. */
  resent: number;
  /** Rows whose vector its index has lost. */
  unindexed: number;
  /** Foreign rows, and changes and deletions by others, that this broker has adopted. */
  taken: number;
};

/** Progress of adopting the rows of an existing public palace. */
export type AdoptionReport = {
  /**
   * `verifying`: palace and ledger are being compared. `refused`: the comparison fails; the broker repeats it and writes nothing to the
   * palace.
   */
  state: "none" | "running" | "verifying" | "verified" | "refused";
  /** Rows of the palace. */
  rows: number;
  /** Rows examined so far. */
  read: number;
  taken: number;
  /** Time when both sides last held the same, row by row. */
  atMs: number | null;
  /** Further information: why it is refused, or what became of the palace's vectors. */
  detail: string;
  /** Advice for a refusal. */
  hint: string;
  /** Rows with a number that an export or a repair does not write exactly; absent in reports of older brokers. */
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
  /** Absent if the outcome door is not set up. */
  outcomeDoor?: OutcomeDoorReport;
  home: string;
  /** Settings that the broker read at its start and that are not defaults; older brokers do not tell. */
  settings?: { key: string; value: string; source: "environment" | "file"; variable?: string }[];
  state: Health["status"];
  error?: { message: string } & WireErrorData;
  /** With `command` the broker does not open the palace: drawers, wings, search and driver are absent then. */
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
    /** The cross-encoder; older brokers say nothing of one. */
    reranker?: { state: "ready" | "off" | "failed"; detail: string };
    embedded: number;
    pending: number;
    /** Time until these are embedded, ms from now; null if unknown; absent in older brokers. */
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
  /** The closets; `lag` still have to be written to the public palace, `pending` of them to be embedded. */
  closets: { count: number; pending: number; lag: number };
  /** The graph in upstream's files; `lag` rows still have to be written there, `takenOver` were adopted from others. */
  graph: {
    facts: number;
    state: "off" | "synced" | "syncing" | "unreachable";
    lag: number;
    /** Age of the oldest of them, ms; absent in older brokers. */
    lagMs?: number;
    takenOver: number;
    detail: string;
    /** Facts that a MemPalace keeps in a file that is not read; absent without any. */
    elsewhere?: { file: string; facts: number };
    /** File in which MemPalace 3.12 and later keeps its hallways: `hallways.json` is not written beside it. */
    newer?: string;
  };
  upstreamLock: UpstreamLockStatus;
  strays: ForeignWritersReport;
  adoption: AdoptionReport;
};

export type LedgerHealth = {
  drawers: number;
  /** Drawers by the counts that are kept for each wing and room. */
  counted: number;
  /** Drawers in the full-text index. */
  words: number;
  vectors: number;
  /** Their quantized vectors, which a search reads first. */
  codes: number;
  /** Drawers that wait for their vector. */
  pending: number;
  /** Drawers without a vector that are not in that backlog. */
  forgotten: number;
  /** "ok", or what SQLite says of the file. */
  integrity: string;
};

export type CollectionHealth = {
  name: string;
  rows: number;
  /** Vectors in its index on disk. */
  indexed: number;
  /** Writes in the queue behind it. */
  queued: number;
  /** Rows whose vector is in neither. */
  unindexed: number;
  segment: "whole" | "absent" | "torn";
  why: string;
  isMarkPoisoned: boolean;
  /** The distance of the collections that we write, "cosine" or "l2"; null for others. */
  space: string | null;
  /** States of upstream's probe (palace.md 10.4). */
  state: "OK" | "DIVERGED" | "UNKNOWN";
};

export type PublicHealth = {
  folder: string;
  /** "ok", "absent", or why it cannot be read. */
  integrity: string;
  collections: CollectionHealth[];
  /** Differences from the ledger; null: nothing there is ours. */
  difference: { missing: number; changed: number; foreign: number; awaited: number } | null;
  /** Index folders moved away, by us or by MemPalace, and palaces that a repair has kept. */
  putAside: string[];
};

/** `palace.health`. */
export type PalaceHealthReport = { ledger: LedgerHealth; palace: PublicHealth };
