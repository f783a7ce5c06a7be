/**
 * Types of the messages between client and broker. A connection begins with HTTP/1.1; after `Upgrade: mcp` on `/mcp` it has one JSON-RPC
 * 2.0 message per line, with MCP's methods and those of `Methods`. This folder's README explains the protocol.
 */
import type { Compress, CompressPreview } from "./compress.ts";
import type { WireErrorData } from "../base/errors.ts";
import type {
  ConversationPart,
  ExtractMode,
  MinedSource,
  Miner,
  SourceContent,
  SourcePart,
  FilingRecord,
  SweptMessage,
} from "./filing.ts";
import type {
  AuditPage,
  AuditRequest,
  ErasureReport,
  ForgetPreview,
  ForgetResult,
  ForgetSelector,
  UndoReport,
  UndoRequest,
} from "./hygiene.ts";
import type { ImportPart, MergeReport } from "./import.ts";
import type {
  BackupsReport,
  Door,
  PalaceHealthReport,
  SpoolReport,
  StatsReport,
  StatusReport,
  TokenReport,
} from "./status.ts";
import type {
  Book,
  CarriedEntry,
  CarriedMemory,
  CarriedPage,
  FactRequest,
  GraphPage,
  GraphReport,
  HostSignal,
  ImportReport,
  MemoryFields,
  MemoryStats,
  MemoryWhy,
  RecallRequest,
  ScoreRequest,
  ScoreResult,
  TurnFields,
  TurnPage,
  OwedScore,
} from "./outcome.ts";

export type * from "./status.ts";

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** Id of a request, unique among a connection's open requests. The answer repeats it. */
export type RequestId = string | number;
/** JSON-RPC 2.0 request; without an id it is a notification. */
export type RpcRequest = { jsonrpc: "2.0"; id?: RequestId | null; method: string; params?: unknown };
/** JSON-RPC 2.0 message that gets no answer. */
export type RpcNotification = { jsonrpc: "2.0"; method: string; params?: unknown };
/** JSON-RPC 2.0 error. `data`: WireErrorData for our own errors. */
export type RpcError = { code: number; message: string; data?: unknown };
/** Answer to a request. `id` is null if the request's id is unreadable. */
export type RpcResponse = { jsonrpc: "2.0"; id: RequestId | null } & ({ result: unknown } | { error: RpcError });

/** JSON-RPC error codes. Most of our own errors have SERVER_ERROR. */
export const RPC = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  SERVER_ERROR: -32000,
  /** Error of MCP 2026-07-28. Its other errors, -32020 and -32021, come only from the SDK. */
  UNSUPPORTED_PROTOCOL_VERSION: -32022,
} as const;

/** Roles of peers: `reader` only reads, `agent` also writes, `admin` may do everything. Peers on the UNIX socket are admins. */
export const ROLES = ["agent", "reader", "admin"] as const;

/** Name of a role. */
export type Role = (typeof ROLES)[number];

/** Content of `broker.json`, where clients look up the broker's address. It is valid only if `/health` has the same instanceId. */
export type BrokerFile = {
  schema: 1;
  instanceId: string;
  version: string;
  protocol: { min: number; max: number };
  pid: number;
  bootId: string;
  startedAtMs: number;
  doors: Door[];
  /** Home folder of the broker. Older brokers do not write it. */
  home?: string;
  /** Socket for `palace gate`, whose peers are agents. Older brokers do not write it. */
  gate?: string;
};

/** How a search ranks: `lexical` by words, `vector` by meaning, `hybrid` by both. With `auto` the broker chooses. */
export type SearchMode = "auto" | "lexical" | "vector" | "hybrid";

/** Job and its parameters. */
export type JobRequest =
  /** Exports the palace. `chroma`: path of Chroma's program; null exports without Chroma; if absent, uses any Chroma that works. */
  | { kind: "export"; dir: string; chroma?: string | null; partial?: boolean }
  /** Rebuilds the ledger's indexes and the public palace. */
  | { kind: "repair" }
  /** Rewrites the ledger without its free pages. */
  | { kind: "compact" }
  /** Makes a backup. If `file` is null, the broker writes a temporary file, and the client copies this file to `goesTo`. */
  | { kind: "backup"; file: string | null; replace: boolean; goesTo: string | null; encrypted: boolean }
  /** Reads a whole backup on the broker's machine, and reports what a restore would change. */
  | { kind: "verify"; file: string }
  /** Rebuilds the public palace if it is unusable. `dryRun`: only reports. */
  | { kind: "migrate"; dryRun: boolean };

/** Kind of a job. */
export type JobKind = JobRequest["kind"];

/** State of a job. Times are ms since 1970. */
export type JobReport = {
  id: string;
  kind: JobKind;
  state: "running" | "done" | "failed" | "cancelled";
  /** Current step. `done` of `total` shows its progress; `total` is 0 if unknown. */
  step: string;
  done: number;
  total: number;
  startedAtMs: number;
  endedAtMs: number | null;
  result: JsonObject | null;
  error: ({ message: string } & WireErrorData) | null;
};

/** Link that opens the web page once. Its secret is after the `#`, which browsers do not send to servers. */
export type UiLink = { url: string; role: Role; expiresAtMs: number };

/** Our own methods, besides MCP's. Writes accept an idempotency key in `_meta`, as `tools/call` does. */
export type Methods = {
  "palace.status": { params: Record<string, never>; result: StatusReport };
  /** Returns how agents used the memory, from the beginning of the day of `sinceMs`, or in all time. */
  "palace.stats": { params: { sinceMs?: number }; result: StatsReport };
  "source.list": {
    /** `sessions`: ids of sessions whose transcripts are looked up in all wings, at most SESSIONS_ASKED_MAX. */
    params: { wing: string; extractMode?: ExtractMode; sessions?: string[]; mined?: { by: Miner; below: string } };
    /** `sessions`: those of the given sessions whose transcripts are filed. `mined`: files in folder `below` that only MemPalace filed. */
    result: { sources: FilingRecord[]; sessions?: string[]; mined?: MinedSource[] };
  };
  /** Replaces a document. If it would have too many drawers, `tooMany` is their number, and the broker has changed nothing. */
  "source.replace": { params: SourceContent; result: { drawers: number; removed: number; tooMany?: number } };
  /** Stores a part of a document. `held`: number of characters stored so far. */
  "source.part": { params: SourcePart; result: { held: number } };
  "source.remove": { params: { wing: string; sourceFile: string }; result: { removed: number } };
  "conversation.replace": {
    params: ConversationPart;
    /** `drawers`: number of written drawers; `added`: how many of these are new. */
    result: { drawers: number; added: number; unchanged: number; removed: number };
  };
  /** Returns the mined files for which the broker can make closets. */
  "closet.sources": { params: { wing?: string }; result: { sources: string[] } };
  "closet.rebuild": {
    /** `knownNames`: all names of upstream's registry; the broker tags each source with the names that it mentions. */
    params: { sourceFiles: string[]; knownNames?: readonly string[]; languages?: readonly string[] };
    /** `kept`: number of sources with closets that a language model wrote, which stay. `unfit`: number of sources without mined drawers. */
    result: { sources: number; closets: number; kept: number; unfit: number };
  };
  "closet.compressPreview": CompressPreview;
  "closet.compress": Compress;
  /** Rebuilds a wing's hallways, and its tunnels by common names and topics. Repeat the call until `left` is 0. */
  "link.rebuild": {
    params: { wing: string; topics?: Record<string, readonly string[]>; hallwayMin?: number; topicsMin?: number };
    result: { hallways: number; tunnels: number; left: number };
  };
  "message.add": {
    params: { sourceFile: string; messages: SweptMessage[]; sourceDirIno?: string };
    result: { added: number; changed: number; present: number };
  };
  "drawer.search": {
    params: {
      query: string;
      wing?: string;
      room?: string;
      limit?: number;
      mode?: SearchMode;
      /** How the search uses the client's project: `prefer`, `strict` or `all`. Older brokers ignore it. */
      scope?: string;
      explain?: boolean;
      /** ISO date to which "yesterday" in the query refers. */
      now?: string;
    };
    result: JsonObject;
  };
  /**
   * Returns the drawer with this id, or the only drawer whose id or hash begins with `id`, with secrets masked. If several drawers match,
   * returns their ids. `deleted`: matching ids of deleted drawers; older brokers do not send them.
   */
  "drawer.show": {
    params: { id: string };
    result: { found: true; drawer: JsonObject } | { found: false; matches: string[]; deleted?: string[] };
  };
  /** Returns the number of drawers in each room. A sliced drawer counts once here; in the tools' answers each slice counts. */
  "drawer.places": {
    params: Record<string, never>;
    result: { places: { wing: string; room: string; drawers: number }[] };
  };
  /** Returns the drawers of a wing or room, newest first, with the beginning of each text. */
  "drawer.list": {
    params: { wing?: string; room?: string; limit?: number; offset?: number };
    result: { drawers: JsonObject[]; total: number; offset: number; limit: number };
  };
  /** Starts a job. Only admins may call `job.start` and `job.cancel`. The broker runs one job at a time. */
  "job.start": { params: JobRequest; result: JobReport };
  /** Checks the whole palace and writes nothing. */
  "palace.health": { params: Record<string, never>; result: PalaceHealthReport };
  "job.list": { params: Record<string, never>; result: { jobs: JobReport[] } };
  /** Returns the backups that the broker made, newest first. Only admins may call it, because the answer has paths of the machine. */
  "backup.list": { params: Record<string, never>; result: BackupsReport };
  "job.cancel": { params: { id: string }; result: JobReport };
  /** Returns the drawer with its secrets unmasked. Only admins may call it; the broker logs each call. */
  "drawer.reveal": { params: { id: string }; result: { found: false } | { found: true; drawer: JsonObject } };
  "memory.forgetPreview": { params: ForgetSelector; result: ForgetPreview };
  "memory.forget": { params: ForgetSelector; result: ForgetResult };
  /** Waits until forgotten texts are erased from all files, for at most `waitMs`. */
  "memory.erasure": { params: { waitMs: number }; result: ErasureReport };
  "memory.undoPreview": { params: UndoRequest; result: UndoReport };
  "memory.undo": { params: UndoRequest; result: UndoReport };
  "memory.audit": { params: AuditRequest; result: AuditPage };
  /** Returns layer 1 of upstream's wake-up text. `project`: wings whose notes come first; mined drawers are then left out. */
  "palace.wakeUp": { params: { wing?: string; project?: readonly string[] }; result: { story: string } };
  /**
   * Begins a turn, after the user's message. Returns texts for the agent's context.
   * - `conversation`: the agent's name and the agent's id of the conversation.
   * - `project`: leaves out memories of other projects.
   * - `isFresh`: true if the agent's context has lost the memories that earlier turns showed.
   * - `isCompacted`: true if the context has lost the conversation, too. The answer then includes the last exchanges.
   * - `withinMs`: how long the client waits. An answer after this time counts as not shown.
   */
  "turn.begin": {
    params: {
      conversation: string;
      prompt: string;
      project?: string;
      isFresh?: boolean;
      isCompacted?: boolean;
      withinMs?: number;
      /** True if the answer must have `fields`. */
      isDetailed?: boolean;
    };
    result: { context: string; scoring: string; plainScoring: string; fields?: TurnFields };
  };
  /**
   * Ends a turn: the broker stores the exchange, and the next user message judges it. `signals`: at most SIGNALS_MAX. `metadata`: stored
   * with the exchange. `id`: id of the stored exchange, or null. `scored`: true if the previous exchange has a score.
   */
  "turn.end": {
    params: {
      conversation: string;
      user: string;
      assistant: string;
      project?: string;
      signals?: HostSignal[];
      metadata?: Record<string, string | number | boolean>;
    };
    result: { id: string | null; scored: boolean };
  };
  "turn.list": { params: { conversation?: string; limit?: number; offset?: number }; result: TurnPage };
  /** `isAsked`: the current turn asks the agent for scores. `isScored`: the agent has sent them. */
  "turn.scored": { params: { conversation: string }; result: { isAsked: boolean; isScored: boolean } };
  /** Returns the memories that still need a score, for a judge model: at most twelve, with the beginning of each text. */
  "turn.owed": { params: { conversation: string; reply?: string }; result: OwedScore };
  /** Records a judge model's outcomes, with `exchange` and `sinceMs` of `turn.owed`. Does not replace outcomes recorded since `sinceMs`. */
  "turn.judge": {
    params: {
      conversation: string;
      exchange: string;
      sinceMs: number;
      outcome: string;
      memory_scores?: Record<string, string>;
    };
    result: { judged: number };
  };
  /** Stores a book. If its title exists, changes nothing (`isNew`: false). `size`, `overlap`: sizes of chunks and overlaps, characters. */
  "book.ingest": {
    params: { title: string; source: string; content: string; size?: number; overlap?: number };
    result: { title: string; chunks: number; isNew: boolean; id: string };
  };
  "book.remove": { params: { title: string }; result: { title: string; removed: number } };
  "book.list": { params: Record<string, never>; result: { books: Book[] } };
  "fact.add": { params: FactRequest; result: { id: string } };
  /** Replaces a fact. `old_content` here and `content` in `fact.archive` are the fact's text or id. `id`: null if no fact matches. */
  "fact.update": { params: { old_content: string; new_content: string }; result: { id: string | null } };
  "fact.archive": { params: { content: string }; result: { id: string | null } };
  /** Stores an agent's takeaway as a memory. `text`: the takeaway as stored. */
  "outcome.record": {
    params: { key_takeaway: string; initial_score?: "worked" | "failed" | "partial" };
    result: { id: string; text: string };
  };
  "outcome.score": { params: ScoreRequest; result: ScoreResult };
  "outcome.search": { params: RecallRequest; result: { memories: MemoryFields[] } };
  "outcome.insights": { params: { query: string }; result: { facts: MemoryFields[]; memories: MemoryFields[] } };
  /** Changes a memory's text. The result's `id` is null if the collection has no such memory. */
  "outcome.rewrite": {
    params: { id: string; collection: string; new_content: string };
    result: { id: string | null; length: number };
  };
  "outcome.stats": { params: Record<string, never>; result: MemoryStats };
  /** Returns why a memory is ranked as it is. `id`: an id under which the memory was shown, or its drawer's id. */
  "outcome.why": { params: { id: string }; result: MemoryWhy };
  /** Imports Roampal's memories. For admins only, as `outcome.export`. `isDry`: only reports. `profile`: key of a Roampal profile. */
  "outcome.import": {
    params: { memories: readonly CarriedMemory[]; isDry: boolean; profile?: string };
    result: ImportReport;
  };
  /** Returns all memories in pages, with secrets unmasked. */
  "outcome.export": { params: { from: number; after?: string; profile?: string }; result: CarriedPage };
  /** Imports Roampal's graphs. For admins only, as `outcome.exportGraph`. The journal stores only a digest of the entries. */
  "outcome.importGraph": { params: { entries: readonly CarriedEntry[]; isDry: boolean }; result: GraphReport };
  /** Returns the imported graph entries in pages, with secrets unmasked. Memories have the same ids as in `outcome.export`. */
  "outcome.exportGraph": { params: { after: string }; result: GraphPage };
  /** Previews `memory.import`. `importer`: the caller's name in the journal. */
  "memory.importPreview": { params: ImportPart; result: MergeReport & { importer: string } };
  /** Merges a part of another memory. Only admins may call this and the preview. The journal stores only a digest of the part. */
  "memory.import": { params: ImportPart; result: MergeReport };
  /** Serves the web page on the broker machine's loopback address. `role`: the link's role, at most and by default the caller's. */
  "ui.link": { params: { role?: Role }; result: UiLink };
  /** Lists the TCP door's tokens, without their secrets. Only the owner may call this and the next three methods. */
  "token.list": { params: Record<string, never>; result: { tokens: TokenReport[] } };
  "token.revoke": { params: { name: string }; result: { revoked: string } };
  /** Lists the oldest writes in this machine's spool: at most 100 waiting and 100 refused ones. */
  "spool.list": { params: Record<string, never>; result: SpoolReport };
  /** Sends a refused write and all waiting writes again. `waiting`: number of writes that the broker has refused only for the moment. */
  "spool.sendAgain": { params: { name: string }; result: { delivered: number; refused: number; waiting: number } };
  "broker.stop": { params: Record<string, never>; result: { stopping: true } };
};

/** Name of one of our methods. */
export type MethodName = keyof Methods;
