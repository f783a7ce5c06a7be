/**
 * Types of the messages between client and broker. One connection carries HTTP/1.1; `Upgrade: mcp` on `/mcp` turns it into
 * newline-delimited JSON-RPC 2.0: MCP's own methods plus the `noun.verb` methods of `Methods` below. Imported by both sides; contains no
 * behaviour. The prose is in this folder's README.
 */
import type { Compress, CompressPreview } from "./compress.ts";
import type { WireErrorData } from "../base/errors.ts";
import type { ConversationPart, ExtractMode, MinedSource, Miner, SourceContent, SourcePart } from "./filing.ts";
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
import type { Door, PalaceHealthReport, StatusReport } from "./status.ts";
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
  OwedScore,
} from "./outcome.ts";

export type * from "./status.ts";

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** A request's id, which its answer repeats; unique among a connection's open requests. */
export type RequestId = string | number;
/** A JSON-RPC 2.0 request; without an id it is a notification. */
export type RpcRequest = { jsonrpc: "2.0"; id?: RequestId | null; method: string; params?: unknown };
/** A message that gets no answer. */
export type RpcNotification = { jsonrpc: "2.0"; method: string; params?: unknown };
/** A JSON-RPC 2.0 error. `data`: WireErrorData for errors of ours. */
export type RpcError = { code: number; message: string; data?: unknown };
/** An answer. `id` null: to a message whose id could not be read. */
export type RpcResponse = { jsonrpc: "2.0"; id: RequestId | null } & ({ result: unknown } | { error: RpcError });

/** JSON-RPC numbers we use. Our typed errors travel as SERVER_ERROR with `data: WireErrorData`. */
export const RPC = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  SERVER_ERROR: -32000,
  /** MCP 2026-07-28; −32020 (headers) and −32021 (missing client capability) are the SDK's alone. */
  UNSUPPORTED_PROTOCOL_VERSION: -32022,
} as const;

/** Key of `params._meta` on `tools/call`: a repeated key returns the first call's result. */
export const IDEMPOTENCY_META = "palace/idempotencyKey";
/** Name and version of an MCP 2026-07-28 client, which has no handshake: MCP's own key, on each request. */
export const CLIENT_INFO_META = "io.modelcontextprotocol/clientInfo";
/** The time of a spooled write, ms since 1970: the write is dated by it, not by its delivery. */
export const WRITTEN_META = "palace/writtenAtMs";
/** Set to true in `_meta` of a result that was not computed again. */
export const REPLAYED_META = "palace/replayed";
/** HTTP header that carries an idempotency key. */
export const IDEMPOTENCY_HEADER = "idempotency-key";
/** Name of the agent behind a shim, an HTTP header of the upgrade; goes into the journal. */
export const AGENT_HEADER = "palace-agent";
/** Names of the project that a client works in (project-header.ts), a header of the upgrade or of a request to `/mcp`. */
export const PROJECT_HEADER = "palace-project";
/** The name of an unnamed shim, until MCP's handshake tells its agent's own name. */
export const UNNAMED_AGENT = "mcp";

/**
 * The set of tools that `tools/list` shows this client: a header of the upgrade or of a request to `/mcp`, where
 * `?tools=` works too.
 */
export const TOOLS_HEADER = "palace-tools";
export const TOOL_PROFILES = ["full", "light", "outcome", "full+outcome", "light+outcome"] as const;

/** One of the sets of tools. */
export type ToolProfile = (typeof TOOL_PROFILES)[number];

/** MCP's own header, the negotiated revision: on a request to `/mcp`, and on the upgrade of a link that has connected again. */
export const MCP_VERSION_HEADER = "mcp-protocol-version";

/** Response header of the upgrade that carries the broker's instance id. */
export const INSTANCE_HEADER = "palace-instance";
/** The reason why an admitted peer gets no further connection, for people. */
export const REFUSED_HEADER = "palace-refused";
/** `min-max` of the protocol versions a broker speaks, a header of its answer to the upgrade; absent from older ones. */
export const PROTOCOL_HEADER = "palace-protocol";

/** A peer's role: everything but administration; read only; everything. Peers on the UNIX socket are admins. */
export const ROLES = ["agent", "reader", "admin"] as const;

/** A role's name. */
export type Role = (typeof ROLES)[number];

/** Content of `broker.json`, a hint of the broker's address. Only `/health` with the same instanceId proves it. */
export type BrokerFile = {
  schema: 1;
  instanceId: string;
  version: string;
  protocol: { min: number; max: number };
  pid: number;
  bootId: string;
  startedAtMs: number;
  doors: Door[];
  /** The broker's home folder; absent in files of older brokers. */
  home?: string;
  /** The socket that `palace gate` connects to, whose peers are agents; absent in files of older brokers. */
  gate?: string;
};

/** How a search ranks: by words, by meaning, by both; `auto` chooses. */
export type SearchMode = "auto" | "lexical" | "vector" | "hybrid";

/** The filing record of one source: enough for a feeder to know that nothing changed. */
export type FilingRecord = {
  sourceFile: string;
  /** Seconds since the epoch, as the file system gave them. */
  mtime: number;
  /** SHA-256 of the filed content, hex. */
  sha256: string;
  drawers: number;
};

/** One message of an agent's session, by the numbers the agent gave. */
export type SweptMessage = {
  sessionId: string;
  uuid: string;
  timestamp: string;
  role: "user" | "assistant";
  content: string;
};

/** A job and its parameters. `chroma`: the executable to write with; left out: whichever works; null: none, the files are written without. */
export type JobRequest =
  | { kind: "export"; dir: string; chroma?: string | null; partial?: boolean }
  /** Rebuilds the ledger's indexes and the public palace. */
  | { kind: "repair" }
  /** Rewrites the ledger without its free pages. */
  | { kind: "compact" }
  /** `file` null: writes into a file of the broker's own, whose path the result names, for a client that takes it away to `goesTo`. */
  | { kind: "backup"; file: string | null; replace: boolean; goesTo: string | null; encrypted: boolean }
  /** Rebuilds the public palace if it is not usable as it is; `dryRun` only reports. */
  | { kind: "migrate"; dryRun: boolean };

/** A job's kind. */
export type JobKind = JobRequest["kind"];

/** The state of a job. Times: Unix, ms. */
export type JobReport = {
  id: string;
  kind: JobKind;
  state: "running" | "done" | "failed" | "cancelled";
  /** The present step and its progress; `total` 0 = unknown. */
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

/** Our own methods on the stream, beside MCP's. Writes take an idempotency key in `_meta` as tools/call does. */
export type Methods = {
  "palace.status": { params: Record<string, never>; result: StatusReport };
  "source.list": {
    /** `sessions`: numbers of sessions that are looked for in all wings, at most SESSIONS_ASKED_MAX. */
    params: { wing: string; extractMode?: ExtractMode; sessions?: string[]; mined?: { by: Miner; below: string } };
    /**
     * `sessions`: filed sources that are transcripts of those sessions. `mined`: those in the folder that only
     * MemPalace has filed.
     */
    result: { sources: FilingRecord[]; sessions?: string[]; mined?: MinedSource[] };
  };
  /** `tooMany`: number of drawers the document would have had; if set, the broker has changed nothing. */
  "source.replace": { params: SourceContent; result: { drawers: number; removed: number; tooMany?: number } };
  /** `held`: characters of the document received so far. */
  "source.part": { params: SourcePart; result: { held: number } };
  "source.remove": { params: { wing: string; sourceFile: string }; result: { removed: number } };
  "conversation.replace": {
    params: ConversationPart;
    /** `drawers` were written, `added` of them are new. */
    result: { drawers: number; added: number; unchanged: number; removed: number };
  };
  /** Mined files, which closets can be made for. */
  "closet.sources": { params: { wing?: string }; result: { sources: string[] } };
  "closet.rebuild": {
    /** `knownNames`: all that the registry has; the sources are tagged with those they mention. */
    params: { sourceFiles: string[]; knownNames?: readonly string[]; languages?: readonly string[] };
    /** `kept`: sources whose closets a language model has written; `unfit`: those without drawers of a miner. */
    result: { sources: number; closets: number; kept: number; unfit: number };
  };
  "closet.compressPreview": CompressPreview;
  "closet.compress": Compress;
  /**
   * Rebuilds, after a mine, the hallways of the wing, and the tunnels by their names and by the topics of wings. `left`: links still to
   * be changed; call it again. Names that occur together on fewer drawers than `hallwayMin`, and wings that share fewer topics than
   * `topicsMin`, are not joined. Defaults: the settings on the broker's machine.
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
      /** `prefer`, `strict` or `all`; an older broker ignores it. */
      scope?: string;
      explain?: boolean;
      /** ISO date to which "yesterday" in the query refers. */
      now?: string;
    };
    result: JsonObject;
  };
  /** Returns the drawer with that id, or the only one whose id or hash begins with it; else the ids that do. Secrets are masked. */
  "drawer.show": {
    params: { id: string };
    result: { found: true; drawer: JsonObject } | { found: false; matches: string[] };
  };
  /** Numbers of drawers by wing and room; a split drawer counts once, unlike in the tools, which count its slices. */
  "drawer.places": {
    params: Record<string, never>;
    result: { places: { wing: string; room: string; drawers: number }[] };
  };
  /** Drawers of a place, the newest first, each with the beginning of its text. */
  "drawer.list": {
    params: { wing?: string; room?: string; limit?: number; offset?: number };
    result: { drawers: JsonObject[]; total: number; offset: number; limit: number };
  };
  /** Starts a job, for admins, as is `job.cancel`. The broker runs one job at a time, on its own machine's files. */
  "job.start": { params: JobRequest; result: JobReport };
  /** Reads everything once, without opening anything for writing. */
  "palace.health": { params: Record<string, never>; result: PalaceHealthReport };
  "job.list": { params: Record<string, never>; result: { jobs: JobReport[] } };
  "job.cancel": { params: { id: string }; result: JobReport };
  /** Returns the drawer as it was filed, with its secrets. For admins; each call is logged. */
  "drawer.reveal": { params: { id: string }; result: { found: false } | { found: true; drawer: JsonObject } };
  "memory.forgetPreview": { params: ForgetSelector; result: ForgetPreview };
  "memory.forget": { params: ForgetSelector; result: ForgetResult };
  /** Waits until the erasing from files is done, for at most this long. */
  "memory.erasure": { params: { waitMs: number }; result: ErasureReport };
  "memory.undoPreview": { params: UndoRequest; result: UndoReport };
  "memory.undo": { params: UndoRequest; result: UndoReport };
  /** The writes, their authors and times, as far back as the journal goes. */
  "memory.audit": { params: AuditRequest; result: AuditPage };
  /**
   * Returns layer 1 of upstream's wake-up, of all wings or of one. With `project`, the wings that may be the project's, it returns notes
   * of those wings first, then of others, and nothing that was mined.
   */
  "palace.wakeUp": { params: { wing?: string; project?: readonly string[] }; result: { story: string } };
  /**
   * Begins a turn after the user's message and returns the texts for the agent.
   * - `conversation`: the agent's name and its own id of the conversation.
   * - `project`: leaves out memories of other projects.
   * - `isFresh`: the agent's context no longer contains what it was shown before.
   * - `isCompacted`: nor what was said; the answer then includes the last exchanges.
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
      /** Also returns the texts as `fields`. */
      isDetailed?: boolean;
    };
    result: { context: string; scoring: string; plainScoring: string; fields?: TurnFields };
  };
  /**
   * Ends a turn: the broker stores the exchange, and the next user message judges it. `signals`: recorded by the host during the turn, at
   * most eight. `metadata`: stored with the exchange. `id`: the stored memory; `scored`: whether the exchange before was scored.
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
  /** `isAsked`: the turn asks for scores; `isScored`: it has received them. */
  "turn.scored": { params: { conversation: string }; result: { isAsked: boolean; isScored: boolean } };
  /**
   * Returns the scores that the current turn still owes, for a third party to judge: the beginning of each text, at most twelve memories.
   * `reply`: the user's words in the turn.
   */
  "turn.owed": { params: { conversation: string; reply?: string }; result: OwedScore };
  /**
   * Records a third party's judgment, which may come later. `exchange`, `sinceMs`: from `turn.owed`; outcomes recorded since then stay.
   * `judged`: number of outcomes recorded.
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
   * Stores a book. `isNew` false: a book of that title exists and is unchanged. `size`, `overlap`: characters of a chunk. `id`: that of
   * the book; its first chunk is `ID_chunk_0`.
   */
  "book.ingest": {
    params: { title: string; source: string; content: string; size?: number; overlap?: number };
    result: { title: string; chunks: number; isNew: boolean; id: string };
  };
  "book.remove": { params: { title: string }; result: { title: string; removed: number } };
  "book.list": { params: Record<string, never>; result: { books: Book[] } };
  "fact.add": { params: FactRequest; result: { id: string } };
  /** Replaces a fact, or archives it. `old_content`, `content`: the fact's text or id. `id` null: no fact matches. */
  "fact.update": { params: { old_content: string; new_content: string }; result: { id: string | null } };
  "fact.archive": { params: { content: string }; result: { id: string | null } };
  /** `text`: the takeaway as stored. */
  "outcome.record": {
    params: { key_takeaway: string; initial_score?: "worked" | "failed" | "partial" };
    result: { id: string; text: string };
  };
  "outcome.score": { params: ScoreRequest; result: ScoreResult };
  "outcome.search": { params: RecallRequest; result: { memories: MemoryFields[] } };
  "outcome.insights": { params: { query: string }; result: { facts: MemoryFields[]; memories: MemoryFields[] } };
  /** `id` null: that collection has no such memory. */
  "outcome.rewrite": {
    params: { id: string; collection: string; new_content: string };
    result: { id: string | null; length: number };
  };
  "outcome.stats": { params: Record<string, never>; result: MemoryStats };
  /** Explains a memory. `id`: any id the memory was shown under, or a drawer's id. */
  "outcome.why": { params: { id: string }; result: MemoryWhy };
  /**
   * Imports a batch of memories from a Roampal. Only admins may call this method and `outcome.export`. `isDry`: only reports what it would
   * do. `profile`: key of a Roampal profile.
   */
  "outcome.import": {
    params: { memories: readonly CarriedMemory[]; isDry: boolean; profile?: string };
    result: ImportReport;
  };
  /** Returns all memories as they are filed, page by page, with secrets unmasked. */
  "outcome.export": { params: { from: number; after?: string; profile?: string }; result: CarriedPage };
  /** Imports entries of a Roampal's graphs, for admins, as is `outcome.exportGraph`. The journal stores only a digest of them. */
  "outcome.importGraph": { params: { entries: readonly CarriedEntry[]; isDry: boolean }; result: GraphReport };
  /** Returns the entries, page by page, with the ids that memories are exported under, and with secrets unmasked. */
  "outcome.exportGraph": { params: { after: string }; result: GraphPage };
  /** Previews the merge of a part of another memory, for admins. `importer`: the caller's name in the journal. */
  "memory.importPreview": { params: ImportPart; result: MergeReport & { importer: string } };
  /** Merges a part of another memory, for admins. The journal stores only a digest of it. */
  "memory.import": { params: ImportPart; result: MergeReport };
  /** Opens the page on the loopback of the broker's machine and makes a link to it: for the asker's role, or a lesser `role`. */
  "ui.link": { params: { role?: Role }; result: UiLink };
  "broker.stop": { params: Record<string, never>; result: { stopping: true } };
};

/** The name of one of our own methods. */
export type MethodName = keyof Methods;
