/**
 * What client and broker say to each other, as types. One connection carries HTTP/1.1; `Upgrade: mcp` on `/mcp` turns it
 * into newline-delimited JSON-RPC 2.0: MCP's own methods plus the `noun.verb` methods of `Methods` below.
 * Imported by both sides; holds no behaviour. The prose is in this folder's README.
 */
import type { WireErrorData } from "./errors.ts";

import type { ErasureReport, ForgetPreview, ForgetResult, ForgetSelector, UndoReport, UndoRequest } from "./hygiene.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export type RequestId = string | number;
export type RpcRequest = { jsonrpc: "2.0"; id?: RequestId | null; method: string; params?: unknown };
export type RpcNotification = { jsonrpc: "2.0"; method: string; params?: unknown };
export type RpcError = { code: number; message: string; data?: unknown };
export type RpcResponse = { jsonrpc: "2.0"; id: RequestId | null } & ({ result: unknown } | { error: RpcError });

/** JSON-RPC numbers we use. Our typed errors travel as SERVER_ERROR with `data: WireErrorData`. */
export const RPC = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  SERVER_ERROR: -32000,
} as const;

/** Key of `params._meta` on `tools/call`: a repeated key returns the first call's result. */
export const IDEMPOTENCY_META = "palace/idempotencyKey";
/** When a write that was kept for a broker was made, ms since 1970: it is dated so, not by its delivery. */
export const WRITTEN_META = "palace/writtenAtMs";
/** Set to true in `_meta` of a result that was not computed again. */
export const REPLAYED_META = "palace/replayed";
/** The same key as an HTTP header. */
export const IDEMPOTENCY_HEADER = "idempotency-key";
/** Name of the agent behind a shim, an HTTP header of the upgrade; goes into the journal. */
export const AGENT_HEADER = "palace-agent";

/** Which tools `tools/list` shows this client, a header of the upgrade or of a request to `/mcp`, where `?tools=` does it too. */
export const TOOLS_HEADER = "palace-tools";
export const TOOL_PROFILES = ["full", "light"] as const;
export type ToolProfile = (typeof TOOL_PROFILES)[number];

/** `min-max` of the protocol versions a broker speaks, a header of its answer to the upgrade; absent from older ones. */
export const PROTOCOL_HEADER = "palace-protocol";

/** What a peer may do: everything but administration; read only; everything. Peers on the UNIX socket are admins. */
export const ROLES = ["agent", "reader", "admin"] as const;
export type Role = (typeof ROLES)[number];

export type Door = { kind: "unix"; path: string } | { kind: "tcp"; host: string; port: number };

/** How a peer came in; the gate is what an SSH bridge ends at. */
export type DoorName = Door["kind"] | "gate";

/** `broker.json`: a hint where the broker is. Only `/health` with the same instanceId proves it. */
export type BrokerFile = {
  schema: 1;
  instanceId: string;
  version: string;
  protocol: { min: number; max: number };
  pid: number;
  bootId: string;
  startedAtMs: number;
  doors: Door[];
  /** Where `palace gate` leads, a socket whose peers are agents; absent in files of brokers before it. */
  gate?: string;
};

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

export type SearchMode = "auto" | "lexical" | "vector" | "hybrid";

/** How one source stands in the palace: enough for a feeder to know that nothing changed. */
export type SourceMark = {
  sourceFile: string;
  /** Seconds since the epoch, as the file system gave them. */
  mtime: number;
  /** SHA-256 of the filed content, hex. */
  sha256: string;
  drawers: number;
};

export type SourceContent = {
  wing: string;
  room: string;
  sourceFile: string;
  mtime: number;
  sha256: string;
  /** The whole document; chunked by the broker as upstream's project miner does. */
  content: string;
  /** YYYY-MM-DD the text speaks of, if known. */
  contentDate?: string;
  /** Where that was found: `filename`, `frontmatter`, `body` or `mtime`. */
  contentDateSource?: string;
  /** Inode of the document's folder, decimal. */
  sourceDirIno?: string;
  /** Names of upstream's registry that the document mentions, at most KNOWN_NAMES_MAX: its drawers are tagged with them. */
  knownNames?: string[];
  /** More than that are not filed, and what was filed of it before stays; 0 = any number. */
  drawersMax?: number;
  addedBy: string;
};

/** One message of an agent's session, by the numbers the agent gave. */
export type SweptMessage = {
  sessionId: string;
  uuid: string;
  timestamp: string;
  role: "user" | "assistant";
  content: string;
};

export const EXTRACT_MODES = ["exchange", "general"] as const;
/** A transcript's exchanges, or the memories in it by their type. */
export type ExtractMode = (typeof EXTRACT_MODES)[number];

/** Drawers `from` to `from + texts.length` of a transcript that becomes `total` of them. */
export type ConversationPart = {
  wing: string;
  room: string;
  sourceFile: string;
  mtime: number;
  /** Marks the source as filed, once all its drawers are. */
  sha256: string;
  /** Each the text of one drawer, at most CONVERSATION_PART_DRAWERS_MAX of them. */
  texts: string[];
  from: number;
  total: number;
  addedBy: string;
  /** SHA-256 of each conversation of the transcript, with commas. */
  contentHash?: string;
  /** When the last message was written, as the transcript has it. */
  authoredAt?: string;
  /** Inode of the transcript's folder, decimal. */
  sourceDirIno?: string;
  /** How it was taken apart; `exchange` where nothing is said. Drawers of the other way stay. */
  extractMode?: ExtractMode;
  /** The room of each drawer, in place of `room`. */
  rooms?: string[];
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
    takenOver: number;
    detail: string;
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

/** `chroma`: the executable to write with; left out: whichever works; null: none, the files are written without. */
export type JobRequest =
  | { kind: "export"; dir: string; chroma?: string | null; partial?: boolean }
  /** Indexes of the ledger and the public palace made anew. */
  | { kind: "repair" }
  /** The public palace made anew if it cannot be worked with as it is; `dryRun` only says so. */
  | { kind: "migrate"; dryRun: boolean };
export type JobKind = JobRequest["kind"];

export type JobReport = {
  id: string;
  kind: JobKind;
  state: "running" | "done" | "failed" | "cancelled";
  /** What is being done, and how far; `total` 0 = cannot be told. */
  step: string;
  done: number;
  total: number;
  startedAtMs: number;
  endedAtMs: number | null;
  result: JsonObject | null;
  error: ({ message: string } & WireErrorData) | null;
};

/** Our own methods on the stream, beside MCP's. Writes take an idempotency key in `_meta` as tools/call does. */
export type Methods = {
  "palace.status": { params: Record<string, never>; result: StatusReport };
  "source.list": {
    /** `sessions`: numbers of sessions that are looked for in all wings, at most SESSIONS_ASKED_MAX. */
    params: { wing: string; extractMode?: ExtractMode; sessions?: string[] };
    /** `sessions`: sources that are filed and are transcripts of those. */
    result: { sources: SourceMark[]; sessions?: string[] };
  };
  /** `tooMany`: it would have become so many drawers, and nothing was done. */
  "source.replace": { params: SourceContent; result: { drawers: number; removed: number; tooMany?: number } };
  "source.remove": { params: { wing: string; sourceFile: string }; result: { removed: number } };
  "conversation.replace": {
    params: ConversationPart;
    /** `drawers` were written, `added` of them are new. */
    result: { drawers: number; added: number; unchanged: number; removed: number };
  };
  /** Mined files, which closets can be made for. */
  "closet.sources": { params: { wing?: string }; result: { sources: string[] } };
  "closet.rebuild": {
    params: { sourceFiles: string[] };
    /** `kept`: sources whose closets a language model has written; `unfit`: those without drawers of a miner. */
    result: { sources: number; closets: number; kept: number; unfit: number };
  };
  /** After a mine: hallways of the wing, and tunnels by their names and the topics of wings. `left`: call it again. */
  "link.rebuild": {
    params: { wing: string; topics?: Record<string, readonly string[]> };
    result: { hallways: number; tunnels: number; left: number };
  };
  "message.add": {
    params: { sourceFile: string; messages: SweptMessage[]; sourceDirIno?: string };
    result: { added: number; changed: number; present: number };
  };
  "drawer.search": {
    params: { query: string; wing?: string; room?: string; limit?: number; mode?: SearchMode; explain?: boolean };
    result: JsonObject;
  };
  /** Administration, as `job.cancel` is: one job at a time, done by the broker, on its own machine's files. */
  "job.start": { params: JobRequest; result: JobReport };
  /** Reads everything once; opens nothing to write. */
  "palace.health": { params: Record<string, never>; result: PalaceHealthReport };
  "job.list": { params: Record<string, never>; result: { jobs: JobReport[] } };
  "job.cancel": { params: { id: string }; result: JobReport };
  /** The drawer as it was filed, secrets and all. For admins; each such look is in the log. */
  "drawer.reveal": { params: { id: string }; result: { found: false } | { found: true; drawer: JsonObject } };
  "memory.forgetPreview": { params: ForgetSelector; result: ForgetPreview };
  "memory.forget": { params: ForgetSelector; result: ForgetResult };
  /** Waits at most so long until nothing is left to erase. */
  "memory.erasure": { params: { waitMs: number }; result: ErasureReport };
  "memory.undoPreview": { params: UndoRequest; result: UndoReport };
  "memory.undo": { params: UndoRequest; result: UndoReport };
  /** Layer 1 of upstream's wake-up: what matters most, of all or of one wing. */
  "palace.wakeUp": { params: { wing?: string }; result: { story: string } };
  "broker.stop": { params: { sticky: boolean }; result: { stopping: true } };
};

export type MethodName = keyof Methods;
