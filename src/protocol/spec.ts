/**
 * What client and broker say to each other, as types. One connection carries HTTP/1.1; `Upgrade: mcp` on `/mcp` turns it
 * into newline-delimited JSON-RPC 2.0: MCP's own methods plus the `noun.verb` methods of `Methods` below.
 * Imported by both sides; holds no behaviour. The prose is in this folder's README.
 */
import type { Compress, CompressPreview } from "./compress.ts";
import type { WireErrorData } from "./errors.ts";
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
/** The same key as an HTTP header. */
export const IDEMPOTENCY_HEADER = "idempotency-key";
/** Name of the agent behind a shim, an HTTP header of the upgrade; goes into the journal. */
export const AGENT_HEADER = "palace-agent";
/** The name of an unnamed shim, until MCP's handshake tells its agent's own name. */
export const UNNAMED_AGENT = "mcp";

/**
 * The set of tools that `tools/list` shows this client: a header of the upgrade or of a request to `/mcp`, where
 * `?tools=` works too.
 */
export const TOOLS_HEADER = "palace-tools";
export const TOOL_PROFILES = ["full", "light", "outcome", "full+outcome", "light+outcome"] as const;
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
export type Role = (typeof ROLES)[number];

/** `broker.json`: a hint of the broker's address. Only `/health` with the same instanceId proves it. */
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

/** `chroma`: the executable to write with; left out: whichever works; null: none, the files are written without. */
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
export type JobKind = JobRequest["kind"];

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
  /** `tooMany`: it would have had this many drawers, and nothing was done. */
  "source.replace": { params: SourceContent; result: { drawers: number; removed: number; tooMany?: number } };
  /** `held`: characters of the document that are received. */
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
   * After a mine: hallways of the wing, and tunnels by their names and the topics of wings. `left`: call it again. Names that
   * stand together on fewer drawers than `hallwayMin`, and wings that share fewer topics than `topicsMin`, are not joined; where
   * nothing is said, the settings on the broker's machine decide.
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
      explain?: boolean;
      /** ISO date to which "yesterday" in the query refers. */
      now?: string;
    };
    result: JsonObject;
  };
  /** The drawer of that id, or the only one whose id or hash begins so; else the ids that do. Secrets are masked. */
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
  /** Administration, as is `job.cancel`: one job at a time, which the broker does on its own machine's files. */
  "job.start": { params: JobRequest; result: JobReport };
  /** Reads everything once; opens nothing to write. */
  "palace.health": { params: Record<string, never>; result: PalaceHealthReport };
  "job.list": { params: Record<string, never>; result: { jobs: JobReport[] } };
  "job.cancel": { params: { id: string }; result: JobReport };
  /** The drawer as it was filed, secrets and all. For admins; each such look is in the log. */
  "drawer.reveal": { params: { id: string }; result: { found: false } | { found: true; drawer: JsonObject } };
  "memory.forgetPreview": { params: ForgetSelector; result: ForgetPreview };
  "memory.forget": { params: ForgetSelector; result: ForgetResult };
  /** Waits at most this long until nothing is left to erase. */
  "memory.erasure": { params: { waitMs: number }; result: ErasureReport };
  "memory.undoPreview": { params: UndoRequest; result: UndoReport };
  "memory.undo": { params: UndoRequest; result: UndoReport };
  /** The writes, their authors and times, as far back as the journal goes. */
  "memory.audit": { params: AuditRequest; result: AuditPage };
  /**
   * Layer 1 of upstream's wake-up, of all wings or of one. With `project`, the wings that may be the project's: notes of
   * those first, then of others, and nothing that was mined.
   */
  "palace.wakeUp": { params: { wing?: string; project?: readonly string[] }; result: { story: string } };
  /**
   * The user has spoken: what the agent is told beside it. `conversation`: the agent's name and its own id of the talk; `project`:
   * memories of other projects are left out; `isFresh`: the agent has nothing before its eyes of what it was shown before; `isCompacted`:
   * nor of what was said, whose last exchanges are told beside; `withinMs`: how long it waits, after which nothing is said.
   */
  "turn.begin": {
    params: {
      conversation: string;
      prompt: string;
      project?: string;
      isFresh?: boolean;
      isCompacted?: boolean;
      withinMs?: number;
      /** The same is told field by field, too. */
      isDetailed?: boolean;
    };
    result: { context: string; scoring: string; plainScoring: string; fields?: TurnFields };
  };
  /**
   * The agent has answered: the exchange is kept, and what the user says next judges it. `signals`: what the host has recorded of the turn,
   * eight at most. `metadata`: kept beside it. `id`: the memory; `scored`: the exchange before.
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
  /** `isAsked`: the turn asks for scores; `isScored`: it has got them. */
  "turn.scored": { params: { conversation: string }; result: { isAsked: boolean; isScored: boolean } };
  /**
   * What the turn that goes on asks for and has not got, for a third party to judge: the beginning of each text, at most twelve
   * memories. `reply`: what the user has said in the turn. */
  "turn.owed": { params: { conversation: string; reply?: string }; result: OwedScore };
  /** Its judgment, which may come later. `exchange`, `sinceMs`: as it was told; what was judged since stays. `judged`: what counts of it. */
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
  /** `isNew` false: a book of that title is there, and stays as it is. `size`, `overlap`: characters of a chunk. `id`: a chunk's is `ID_chunk_0`. */
  "book.ingest": {
    params: { title: string; source: string; content: string; size?: number; overlap?: number };
    result: { title: string; chunks: number; isNew: boolean; id: string };
  };
  "book.remove": { params: { title: string }; result: { title: string; removed: number } };
  "book.list": { params: Record<string, never>; result: { books: Book[] } };
  "fact.add": { params: FactRequest; result: { id: string } };
  /** What is old, or is to be archived: the fact's text or id. `id` null: no fact is meant by it. */
  "fact.update": { params: { old_content: string; new_content: string }; result: { id: string | null } };
  "fact.archive": { params: { content: string }; result: { id: string | null } };
  /** `text`: the takeaway as it is kept. */
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
  /** `id`: any that the memory was shown by, or a drawer's. */
  "outcome.why": { params: { id: string }; result: MemoryWhy };
  /** Administration, as is `outcome.export`. A part of a Roampal's memories; `isDry`: only tells what would become of them.
   * `profile`: key of a named profile of Roampal's, which every method of memory with outcomes takes. */
  "outcome.import": {
    params: { memories: readonly CarriedMemory[]; isDry: boolean; profile?: string };
    result: ImportReport;
  };
  /** All memories as they are filed, page by page: nothing is masked. */
  "outcome.export": { params: { from: number; after?: string; profile?: string }; result: CarriedPage };
  /** Administration, as is `outcome.exportGraph`. Entries of a Roampal's graphs, of which the journal holds a digest alone. */
  "outcome.importGraph": { params: { entries: readonly CarriedEntry[]; isDry: boolean }; result: GraphReport };
  /** The entries, page by page, with the ids that memories are exported under: nothing is masked. */
  "outcome.exportGraph": { params: { after: string }; result: GraphPage };
  /** Administration. Tells what would become of a part of another memory. `importer`: the caller's name in the journal. */
  "memory.importPreview": { params: ImportPart; result: MergeReport & { importer: string } };
  /** Administration. Merges a part of another memory; the journal holds a digest of it alone. */
  "memory.import": { params: ImportPart; result: MergeReport };
  "broker.stop": { params: Record<string, never>; result: { stopping: true } };
};

export type MethodName = keyof Methods;
