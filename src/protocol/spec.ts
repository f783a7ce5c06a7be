/**
 * Types of the messages between client and broker. A connection begins with HTTP/1.1. `Upgrade: mcp` on `/mcp` turns it into
 * newline-delimited JSON-RPC 2.0, with MCP's methods and the `noun.verb` methods of `Methods`. This folder's README explains them.
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

/** Id of a request, which its answer repeats. It is unique among a connection's open requests. */
export type RequestId = string | number;
/** JSON-RPC 2.0 request; without an id it is a notification. */
export type RpcRequest = { jsonrpc: "2.0"; id?: RequestId | null; method: string; params?: unknown };
/** Message without an answer. */
export type RpcNotification = { jsonrpc: "2.0"; method: string; params?: unknown };
/** JSON-RPC 2.0 error. `data`: WireErrorData for our own errors. */
export type RpcError = { code: number; message: string; data?: unknown };
/** Answer to a request. `id` is null if the request's id could not be read. */
export type RpcResponse = { jsonrpc: "2.0"; id: RequestId | null } & ({ result: unknown } | { error: RpcError });

/** JSON-RPC error codes that we use. Our typed errors are SERVER_ERROR with `data: WireErrorData`. */
export const RPC = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  SERVER_ERROR: -32000,
  /** Error of MCP 2026-07-28. Only the SDK sends its −32020 (headers) and −32021 (missing client capability). */
  UNSUPPORTED_PROTOCOL_VERSION: -32022,
} as const;

/**
 * Roles of a peer: `agent` may do everything except administration, `reader` only reads, `admin` may do everything. Peers on the UNIX
 * socket are admins.
 */
export const ROLES = ["agent", "reader", "admin"] as const;

/** Name of a role. */
export type Role = (typeof ROLES)[number];

/** Content of `broker.json`, a hint to the broker's address. It is valid only if `/health` answers with the same instanceId. */
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

/** Way in which a search ranks: by words, by meaning, or by both. `auto` lets the broker choose. */
export type SearchMode = "auto" | "lexical" | "vector" | "hybrid";

/** A job and its parameters. `chroma`: the program that writes the files; if absent, any usable program; if null, the broker itself. */
export type JobRequest =
  | { kind: "export"; dir: string; chroma?: string | null; partial?: boolean }
  /** Rebuilds the ledger's indexes and the public palace. */
  | { kind: "repair" }
  /** Rewrites the ledger without its free pages. */
  | { kind: "compact" }
  /** Makes a backup. If `file` is null, the broker writes a file of its own, which the result names and the client copies to `goesTo`. */
  | { kind: "backup"; file: string | null; replace: boolean; goesTo: string | null; encrypted: boolean }
  /** Reads a whole backup on the broker's machine, and reports what a restore would change. */
  | { kind: "verify"; file: string }
  /** Rebuilds the public palace if it is not usable. `dryRun`: only report. */
  | { kind: "migrate"; dryRun: boolean };

/** Kind of a job. */
export type JobKind = JobRequest["kind"];

/** State of a job. Times are ms since 1970. */
export type JobReport = {
  id: string;
  kind: JobKind;
  state: "running" | "done" | "failed" | "cancelled";
  /** Current step and its progress; `total` 0 means unknown. */
  step: string;
  done: number;
  total: number;
  startedAtMs: number;
  endedAtMs: number | null;
  result: JsonObject | null;
  error: ({ message: string } & WireErrorData) | null;
};

/** A link that opens the page once. Its secret is behind the `#`, and browsers do not send that part to a server. */
export type UiLink = { url: string; role: Role; expiresAtMs: number };

/** Our own methods on the stream. Writes accept an idempotency key in `_meta`, as `tools/call` does. */
export type Methods = {
  "palace.status": { params: Record<string, never>; result: StatusReport };
  /** Returns how agents used the memory: since the day of `sinceMs`, or in all time. */
  "palace.stats": { params: { sinceMs?: number }; result: StatsReport };
  "source.list": {
    /** `sessions`: ids of sessions to find in all wings, at most SESSIONS_ASKED_MAX. */
    params: { wing: string; extractMode?: ExtractMode; sessions?: string[]; mined?: { by: Miner; below: string } };
    /** `sessions`: filed sources that are transcripts of those sessions. `mined`: files in folder `below` that only MemPalace has filed. */
    result: { sources: FilingRecord[]; sessions?: string[]; mined?: MinedSource[] };
  };
  /** Replaces a document. `tooMany`: number of drawers that it would have, if this is too many. The broker has then changed nothing. */
  "source.replace": { params: SourceContent; result: { drawers: number; removed: number; tooMany?: number } };
  /** Stores a part of a document. `held`: characters of the document received so far. */
  "source.part": { params: SourcePart; result: { held: number } };
  "source.remove": { params: { wing: string; sourceFile: string }; result: { removed: number } };
  "conversation.replace": {
    params: ConversationPart;
    /** `drawers`: number of written drawers; `added`: number of them that are new. */
    result: { drawers: number; added: number; unchanged: number; removed: number };
  };
  /** Returns the mined files for which the broker can make closets (lines that point at a source's drawers). */
  "closet.sources": { params: { wing?: string }; result: { sources: string[] } };
  "closet.rebuild": {
    /** `knownNames`: all names of the registry; each source is tagged with the names that it mentions. */
    params: { sourceFiles: string[]; knownNames?: readonly string[]; languages?: readonly string[] };
    /** `kept`: sources whose closets a language model wrote; these closets stay. `unfit`: sources without mined drawers. */
    result: { sources: number; closets: number; kept: number; unfit: number };
  };
  "closet.compressPreview": CompressPreview;
  "closet.compress": Compress;
  /**
   * Rebuilds a wing's links after mining: its hallways, and its tunnels by names and by topics. `hallwayMin`: minimum number of drawers
   * with both names. `topicsMin`: minimum number of common topics of two wings. Both default to the settings on the broker's machine.
   * `left`: number of links still to change; if not 0, call the method again.
   */
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
   * Returns the drawer with this id, or the only drawer whose id or hash begins with `id`; otherwise the ids that fit. Secrets are masked.
   * `deleted`: ids of deleted drawers that fit; older brokers do not send them.
   */
  "drawer.show": {
    params: { id: string };
    result: { found: true; drawer: JsonObject } | { found: false; matches: string[]; deleted?: string[] };
  };
  /** Returns numbers of drawers by wing and room. A sliced drawer counts once; the tools count its slices. */
  "drawer.places": {
    params: Record<string, never>;
    result: { places: { wing: string; room: string; drawers: number }[] };
  };
  /** Returns the drawers of a place, newest first, with the beginning of each text. */
  "drawer.list": {
    params: { wing?: string; room?: string; limit?: number; offset?: number };
    result: { drawers: JsonObject[]; total: number; offset: number; limit: number };
  };
  /** Starts a job. Only admins may call `job.start` and `job.cancel`. The broker runs one job at a time, on the files of its machine. */
  "job.start": { params: JobRequest; result: JobReport };
  /** Reads the whole palace once to check it, and writes nothing. */
  "palace.health": { params: Record<string, never>; result: PalaceHealthReport };
  "job.list": { params: Record<string, never>; result: { jobs: JobReport[] } };
  /** Returns the backups that the broker made, newest first. Only admins may call it: the answer names files on the machine. */
  "backup.list": { params: Record<string, never>; result: BackupsReport };
  "job.cancel": { params: { id: string }; result: JobReport };
  /** Returns the drawer as it was filed, with its secrets unmasked. Only admins may call it; each call is logged. */
  "drawer.reveal": { params: { id: string }; result: { found: false } | { found: true; drawer: JsonObject } };
  "memory.forgetPreview": { params: ForgetSelector; result: ForgetPreview };
  "memory.forget": { params: ForgetSelector; result: ForgetResult };
  /** Waits until erasing from files is done, for at most `waitMs`. */
  "memory.erasure": { params: { waitMs: number }; result: ErasureReport };
  "memory.undoPreview": { params: UndoRequest; result: UndoReport };
  "memory.undo": { params: UndoRequest; result: UndoReport };
  /** Returns the writes, their authors and times, as far back as the journal goes. */
  "memory.audit": { params: AuditRequest; result: AuditPage };
  /**
   * Returns layer 1 of upstream's wake-up, for all wings or for one. `project`: possible wings of the project. With it, returns notes of
   * those wings first, then notes of other wings, and no mined drawers.
   */
  "palace.wakeUp": { params: { wing?: string; project?: readonly string[] }; result: { story: string } };
  /**
   * Begins a turn after the user's message and returns the texts for the agent.
   * - `conversation`: the agent's name and its own id of the conversation.
   * - `project`: leaves out memories of other projects.
   * - `isFresh`: the agent's context no longer contains what the broker showed before.
   * - `isCompacted`: the context does not contain the conversation either; the answer then includes the last exchanges.
   * - `withinMs`: how long the client waits. After that the broker shows nothing in this turn.
   */
  "turn.begin": {
    params: {
      conversation: string;
      prompt: string;
      project?: string;
      isFresh?: boolean;
      isCompacted?: boolean;
      withinMs?: number;
      /** True to return the texts also as `fields`. */
      isDetailed?: boolean;
    };
    result: { context: string; scoring: string; plainScoring: string; fields?: TurnFields };
  };
  /**
   * Ends a turn: the broker stores the exchange, and the next user message judges it. `signals`: signals that the host recorded, at most
   * eight. `metadata`: stored with the exchange. `id`: the stored memory. `scored`: whether the previous exchange has a score.
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
  /** Returns turns that showed memories, of all conversations or of one, with the outcome of each memory. */
  "turn.list": { params: { conversation?: string; limit?: number; offset?: number }; result: TurnPage };
  /** Returns the current turn's state. `isAsked`: the turn asks for scores. `isScored`: the turn has received scores. */
  "turn.scored": { params: { conversation: string }; result: { isAsked: boolean; isScored: boolean } };
  /**
   * Returns memories that the current turn must still score, for a judge model: the beginning of each text, at most twelve. `reply`: the
   * user's words in the turn.
   */
  "turn.owed": { params: { conversation: string; reply?: string }; result: OwedScore };
  /**
   * Records the outcomes that a judge model gives, perhaps after the turn. `exchange` and `sinceMs` are from `turn.owed`; outcomes recorded
   * after `sinceMs` are kept. `judged`: number of outcomes recorded.
   */
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
  /**
   * Stores a book. `isNew`: false if a book with that title exists, which then stays unchanged. `size`, `overlap`: characters of a chunk.
   * `id`: the book's id; its first chunk is `ID_chunk_0`.
   */
  "book.ingest": {
    params: { title: string; source: string; content: string; size?: number; overlap?: number };
    result: { title: string; chunks: number; isNew: boolean; id: string };
  };
  "book.remove": { params: { title: string }; result: { title: string; removed: number } };
  "book.list": { params: Record<string, never>; result: { books: Book[] } };
  "fact.add": { params: FactRequest; result: { id: string } };
  /** Replaces a fact. `old_content`: its text or id. `id`: null if no fact matches. `fact.archive` has the text or id in `content`. */
  "fact.update": { params: { old_content: string; new_content: string }; result: { id: string | null } };
  "fact.archive": { params: { content: string }; result: { id: string | null } };
  /** Stores a takeaway. `text`: the takeaway as stored. */
  "outcome.record": {
    params: { key_takeaway: string; initial_score?: "worked" | "failed" | "partial" };
    result: { id: string; text: string };
  };
  "outcome.score": { params: ScoreRequest; result: ScoreResult };
  "outcome.search": { params: RecallRequest; result: { memories: MemoryFields[] } };
  "outcome.insights": { params: { query: string }; result: { facts: MemoryFields[]; memories: MemoryFields[] } };
  /** Changes a memory's text. `id`: null if the collection has no such memory. */
  "outcome.rewrite": {
    params: { id: string; collection: string; new_content: string };
    result: { id: string | null; length: number };
  };
  "outcome.stats": { params: Record<string, never>; result: MemoryStats };
  /** Explains a memory. `id`: any id under which the memory was shown, or a drawer's id. */
  "outcome.why": { params: { id: string }; result: MemoryWhy };
  /**
   * Imports a batch of Roampal memories. Only admins may call it and `outcome.export`. `isDry`: only report. `profile`: key of a Roampal
   * profile.
   */
  "outcome.import": {
    params: { memories: readonly CarriedMemory[]; isDry: boolean; profile?: string };
    result: ImportReport;
  };
  /** Returns all memories page by page, as they were filed, with secrets unmasked. */
  "outcome.export": { params: { from: number; after?: string; profile?: string }; result: CarriedPage };
  /** Imports entries of Roampal's graphs. Only admins may call it and `outcome.exportGraph`. The journal stores only their digest. */
  "outcome.importGraph": { params: { entries: readonly CarriedEntry[]; isDry: boolean }; result: GraphReport };
  /** Returns the imported entries of Roampal's graphs page by page, with the memory ids of `outcome.export` and with secrets unmasked. */
  "outcome.exportGraph": { params: { after: string }; result: GraphPage };
  /** Previews the merge of a part of another memory. Only admins may call it. `importer`: the caller's name in the journal. */
  "memory.importPreview": { params: ImportPart; result: MergeReport & { importer: string } };
  /** Merges a part of another memory. Only admins may call it. The journal stores only its digest. */
  "memory.import": { params: ImportPart; result: MergeReport };
  /** Opens the page on the loopback of the broker's machine and makes a link to it: for the caller's role, or for a lesser `role`. */
  "ui.link": { params: { role?: Role }; result: UiLink };
  /** Lists the TCP door's tokens, without their secrets. Only the owner may call this and the next three methods. */
  "token.list": { params: Record<string, never>; result: { tokens: TokenReport[] } };
  "token.revoke": { params: { name: string }; result: { revoked: string } };
  /** Lists the oldest waiting and refused writes of this machine, 100 of each. */
  "spool.list": { params: Record<string, never>; result: SpoolReport };
  /** Sends a refused write again. `waiting`: number of writes that the broker refuses temporarily. */
  "spool.sendAgain": { params: { name: string }; result: { delivered: number; refused: number; waiting: number } };
  "broker.stop": { params: Record<string, never>; result: { stopping: true } };
};

/** Name of one of our methods. */
export type MethodName = keyof Methods;
