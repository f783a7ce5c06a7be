/**
 * The stores as the engine and the broker see them: shapes and contracts, no behaviour. Implementations live in the
 * folders beside this file; engine imports this file and nothing else of store.
 */
import type { Miner } from "../protocol/filing.ts";
import type { ForgetTx, UndoTx } from "./hygiene-port.ts";

export type * from "./hygiene-port.ts";

/** Scalar metadata as a palace keeps it (palace.md 4.7); keys are upstream's, snake_case. */
export type Metadata = Record<string, MetadataValue>;
export type Scalar = string | number | boolean;
/** Lists are of one type, and only in rows that others wrote: Chroma has them since 1.5, MemPalace makes none. */
export type MetadataValue = Scalar | Scalar[];

/** Array.isArray does not tell them apart for the compiler. */
export function isList(value: MetadataValue): value is Scalar[] {
  return Array.isArray(value);
}

/** One drawer. `row` is the ledger's own number: it grows, is never given twice, and orders rows as Chroma would. */
export type Drawer = { row: number; id: string; wing: string; room: string; text: string; metadata: Metadata };

/** What a new drawer is made of; wing, room and source_file are read from the metadata. */
export type NewDrawer = { id: string; text: string; metadata: Metadata };

/** One closet: pointers to the drawers of its source_file, as the public palace shows them (palace.md 4.8). */
export type NewCloset = { id: string; text: string; metadata: Metadata };

export type PlaceFilter = { wing?: string; room?: string };

/** A place, and what else a drawer may be asked for by its metadata. */
export type DrawerFilter = PlaceFilter & {
  sourceFile?: string;
  /** Bounds of `filed_at`, `[since, before)`, in upstream's own form of it; compared as text, by the clock on the wall. */
  since?: string;
  before?: string;
};

export type SourceRow = { sourceFile: string; wing: string; mtime: number; sha256: string; drawers: number };

/** `below`: an absolute folder; `after`: the last name of the page before. */
export type MinedQuery = { wing: string; miner: Miner; below: string; after?: string | undefined };
/** `last`: what the next page comes after; undefined: there is none. */
export type MinedPage = { rows: MinedRow[]; last: string | undefined };
/** As drawers that came with the palace have it, whoever wrote them. */
export type MinedRow = { sourceFile: string; mtime: unknown; filedAt: unknown };

/** Drawers of one source that were filed alike. */
export type SourceGroup = {
  sourceFile: string;
  /** Number of the folder the source lay in when it was filed, where that was noted. */
  directoryId: string | null;
  /** Marks of upstream's conversation miner, no text. */
  isRegistry: boolean;
  drawers: number;
  /** The newest row among them: what was filed since is another matter. */
  lastRow: number;
};

/** Source files as the broker's machine sees them. */
export interface SourceFiles {
  /** `absent` only where the way there could be walked and nothing was at its end. */
  state(path: string): "file" | "other" | "absent" | "unknown";
  /** Without links, as far as the path exists; undefined where that cannot be told. */
  resolve(path: string): string | undefined;
  /** It holds a .git or a .gitignore. */
  isProject(folder: string): boolean;
  /** The text of its .gitignore. */
  ignoreRules(folder: string): string | undefined;
  directoryId(folder: string): string | undefined;
}

/**
 * One write transaction as the engine sees it. Concurrency: synchronous, on the writer thread, never across an await.
 * Errors: STORE_* from the implementation; the whole call is rolled back then.
 */
export interface LedgerTx {
  findDrawer(id: string): Drawer | undefined;
  /** Adds drawers, best all of a call at once; an id that exists is a broken invariant, look first. */
  insertDrawers(drawers: readonly NewDrawer[]): void;
  /** Replaces text and/or metadata under the same id and row. */
  updateDrawer(id: string, change: { text?: string; metadata: Metadata }): void;
  /** True if there was one. */
  deleteDrawer(id: string): boolean;
  /** The slices of a long drawer or diary entry, in order; none where `id` is no such one. */
  slicesOf(id: string): Drawer[];
  /** How many drawers have that source_file, and the first few places they are in. */
  placesOfSource(sourceFile: string): { drawers: number; places: { wing: string; room: string }[] };
  /** Deletes every drawer with that source_file, in any wing; returns how many. */
  deleteSource(sourceFile: string): number;
  putSource(source: SourceRow): void;
  readonly graph: GraphTx;
  readonly closets: ClosetTx;
  /** Deletes the drawers of a group, of one wing or of all; returns how many. A feeder files the source anew then. */
  deleteSourceGroup(group: SourceGroup, wing: string | undefined): number;
  /** Every drawer with that source_file, in any wing, in row order; none for an empty name. */
  drawersOfSource(sourceFile: string): Drawer[];
  readonly parts: PartTx;
  readonly forget: ForgetTx;
  readonly undo: UndoTx;
  /** How ids of new drawers are made: as the palace's own rows are, `v3` where it has none (upstream-latest.md 2.3). */
  idRecipe(): IdRecipe;
}

/** 3.3.6 joined the parts of an id bare, 3.11 puts each one's length in front. */
/** Stands between a transcript's name and the way it was taken apart, in a mark of its own. Nobody's path holds it. */
export const MARK_OF_MODE = "\u001f";

export type IdRecipe = "bare" | "v3";

/** A piece of a document that is being sent; `from` and its length in characters (UTF-16). */
export type DocumentPart = { sourceFile: string; sending: string; from: number; text: string; atMs: number };

/** Documents that come in parts, until they are filed; one sending a source. Concurrency and errors: as LedgerTx. */
export interface PartTx {
  /** Characters that are there of this sending. */
  held(sourceFile: string, sending: string): number;
  put(part: DocumentPart): void;
  /** In their order, joined. */
  text(sourceFile: string): string;
  drop(sourceFile: string): void;
}

/** Reads that are quick at any size. Concurrency: synchronous; sees only committed state. */
export interface LedgerReader {
  findDrawer(id: string): Drawer | undefined;
  /** As LedgerTx has it. */
  slicesOf(id: string): Drawer[];
  drawersByRow(rows: readonly number[]): Drawer[];
  /** Of one source in one wing, those whose `chunk_index` is `first` to `last`, in that order; a bounded number of them. */
  slicesOfSource(range: { sourceFile: string; wing: string; first: number; last: number }): Drawer[];
  /** In row order, found in an index. */
  listDrawers(filter: DrawerFilter, limit: number, offset: number): { drawers: Drawer[]; total: number };
  /** Drawer counts by wing and room, kept by the ledger, so the cost does not grow with the drawers. */
  places(): { wing: string; room: string; drawers: number }[];
  /** The last `limit` that were filed, in row order. */
  newestDrawers(wing: string | undefined, limit: number): Drawer[];
  diaryEntries(agent: string, wing: string | undefined): Drawer[];
  /** Undefined: of all wings. */
  sources(wing: string | undefined): SourceRow[];
  /** Sources without a mark of ours, page by page. */
  minedSources(query: MinedQuery): MinedPage;
  readonly graph: GraphReader;
  readonly closets: ClosetReader;
  /** All drawers by source, of one wing or of all. Reads every drawer once. */
  sourceGroups(wing: string | undefined): SourceGroup[];
}

/** A write, as it waits in the queue and stands in the journal. Plain data: it crosses to the writer thread. */
export type WriteCall = {
  /** Idempotency key; always there, the broker makes one where the client sent none. */
  key: string;
  /** The client made the key, and may send the call again with it. */
  isRepeatable: boolean;
  /** Tool or method name without prefix: `add_drawer`, `source.replace`. */
  method: string;
  params: Record<string, unknown>;
  /** Who: agent name, door and process of the peer. */
  peer: { agent: string; door: string; uid: number; pid: number };
  requestId: string;
  atMs: number;
  /** What the broker found out for the engine before: no part of what the call is, so a repetition may come with another. */
  findings?: unknown;
};

/** Rows a commit touched, for the indexes outside the ledger. */
export type Changes = {
  /** Drawers that are new: no index outside the ledger knows them before they have a vector. */
  added: number;
  /** Rows whose text, place or vector is another now. */
  written: number[];
  removed: number[];
  /** Rows of the graph that were changed. */
  graph: number;
  /** Closets that were written or deleted. */
  closets: number;
};

/** What became of a write. `value` is the tool's result, or the RPC error the tool answers with. */
export type WriteOutcome = {
  outcome: { ok: true; value: unknown } | { ok: false; error: { code: number; message: string; data?: unknown } };
  replayed: boolean;
};

/** A drawer waiting for its vector. `textVersion` changes with the text; a vector of an older one is dropped. */
export type PendingText = { row: number; textVersion: number; text: string };
export type NewVector = { row: number; textVersion: number; vector: Float32Array };

// --- closets --------------------------------------------------------------------------------------------------------

/**
 * The closets' part of a write transaction; an empty name is no source. Those of a source vanish with its last drawer by
 * themselves. Concurrency and errors: as LedgerTx.
 */
export interface ClosetTx {
  count(sourceFile: string): number;
  /** Some of them were written by a language model (upstream's closet_llm): nobody here could make them again. */
  isModelMade(sourceFile: string): boolean;
  /** The source has these and no others afterwards. One whose text stays keeps its vector. */
  replace(sourceFile: string, closets: readonly NewCloset[]): void;
  /** One beside those of its source, which its metadata names. */
  put(closet: NewCloset): void;
  /** Returns how many there were. */
  remove(sourceFile: string): number;
}

export type SearchCloset = { sourceFile: string; text: string; vector: Float32Array };

export interface ClosetReader {
  /** Those of the drawers' sources that have their vector, in the order they were filed. */
  ofRows(rows: readonly number[], filter: PlaceFilter): SearchCloset[];
  /** Where these drawers stand in their source, by the number they bear, and how many it has; none without a source. */
  positions(ids: readonly string[]): Map<string, { index: number; total: number }>;
  /** Files that closets can be made for; reads every drawer once. */
  minedSources(wing: string | undefined): string[];
  count(): number;
}

// --- the graph ------------------------------------------------------------------------------------------------------

/** What somebody said: subject, predicate and object as ids. Times are upstream's text, null is unknown or open. */
export type Fact = {
  id: string;
  subject: string;
  predicate: string;
  object: string;
  validFrom: string | null;
  validTo: string | null;
  confidence: number | null;
  sourceCloset: string | null;
};
export type NewFact = Fact & { sourceFile: string | null; sourceDrawerId: string | null; atMs: number };
/** With the entities' names; a fact about an entity that has no row is left out, as upstream's joins do. */
export type NamedFact = Fact & { subjectName: string; objectName: string };

/** Links between rooms of two wings, or between entities of one; a record is upstream's JSON object. */
export type LinkKind = "tunnel" | "hallway";
export type LinkRecord = Record<string, unknown>;

/** Drawers of one room, wing and hall ("" = none) and their latest `date` ("" = none), by room, wing and hall. */
export type RoomCount = { room: string; wing: string; hall: string; drawers: number; lastDate: string };

/** Drawers of a room with the same `entities`. */
export type NamedRows = { room: string; entities: string; drawers: number };

/** A name at either end of the hallways of a wing; `drawers` of the strongest, null where that is not noted. */
export type HallwayEnd = { wing: string; name: string; drawers: number | null };

/** The graph's part of a write transaction. Concurrency and errors: as LedgerTx. */
export interface GraphTx {
  /** The first name an entity was given stays. */
  putEntity(id: string, name: string, atMs: number): void;
  openFacts(subject: string, predicate: string, object: string): Fact[];
  hasFact(id: string): boolean;
  insertFact(fact: NewFact): void;
  endFact(id: string, validTo: string): void;
  findLink(kind: LinkKind, id: string): LinkRecord | undefined;
  putLink(kind: LinkKind, id: string, record: LinkRecord): void;
  /** True if there was one. */
  deleteLink(kind: LinkKind, id: string): boolean;
  /** Drawers of the wing that bear names; undefined in a wing without drawers. Reads every drawer of the wing. */
  namedRows(wing: string): NamedRows[] | undefined;
  hallwaysOf(wing: string): LinkRecord[];
  /** Of all wings. Reads every hallway. */
  hallwayEnds(): HallwayEnd[];
  /** Also true in a palace that never held a drawer: nothing can be said of its rooms. */
  mayHoldRoom(wing: string, room: string): boolean;
}

/** Reads of the graph. Concurrency: as LedgerReader. */
export interface GraphReader {
  hasEntity(id: string): boolean;
  hasFacts(): boolean;
  /** Those of the ids that are entities. */
  entitiesAmong(ids: readonly string[]): string[];
  /** Facts about the subject that have an end, the last written first. */
  endedFacts(subject: string, limit: number): NamedFact[];
  /** Facts of a subject and a predicate, whatever the object and the time. */
  factsWith(subject: string, predicate: string, limit: number): NamedFact[];
  factsOf(entityId: string, direction: "outgoing" | "incoming"): NamedFact[];
  /** Entities of whose name or id the name is one or several whole words; the entity `id` itself is not among them. */
  similarEntities(name: string, id: string): { id: string; name: string }[];
  /** By start, unknown starts last. */
  timeline(entityId: string | undefined, limit: number, offset: number): { facts: NamedFact[]; total: number };
  stats(): { entities: number; facts: number; open: number; predicates: string[] };
  links(kind: LinkKind): LinkRecord[];
  /** The strongest first; there may be hundreds of thousands. */
  hallways(wing: string | undefined, limit: number, offset: number): { records: LinkRecord[]; total: number };
}

/** A row of the public palace as others left it. `vector`: L2-normalised and of the palace's own model, where there is one. */
export type TakenRow = { id: string; text: string; metadata: Metadata; vector: Float32Array | undefined };

/** What the ledger takes over from the palace in one transaction; `removed` are drawers that others have deleted there. */
export type TakeOver = {
  rows: readonly TakenRow[];
  removed: readonly string[];
  /** Model of the vectors; undefined where none comes along. */
  model: string | undefined;
};

// --- search ---------------------------------------------------------------------------------------------------------

/** A row and its score; lexical scores are BM25-like, ≥ 0, higher is better; cosines are −1…1. */
export type Scored = { row: number; score: number };

/**
 * BM25 of a row in its parts, none of them weighted: the words in the drawer, neighbours of the query that are neighbours in
 * it, the words in its whole source. `coverage`: share of the query's words that the drawer holds, by their rarity, 0…1.
 */
export type LexicalParts = { drawer: number; pairs: number; source: number; coverage: number };
export type LexicalCandidate = Scored & { parts: LexicalParts };

/** BM25 over the drawers. Concurrency: answers from a thread of its own, never behind a write. */
export interface LexicalIndex {
  /** The best `limit` rows by BM25 under the filter, best first, scored in full; of a source or a window of no more than that, all. */
  candidates(query: string, filter: DrawerFilter, limit: number): Promise<LexicalCandidate[]>;
  /** Rows that have every phrase word for word, one after the other and unstemmed, best by BM25 first. */
  phraseRows(phrases: readonly string[], filter: DrawerFilter, limit: number): Promise<number[]>;
  /** What the full lexical score L of each given row is made of (bench recipe 4). Order as given. */
  score(query: string, rows: readonly number[]): Promise<LexicalParts[]>;
}

/** Exact nearest neighbours over the stored vectors. */
export interface VectorIndex {
  /** Rows with the nearest `limit` among them, likely ones first: quicker than `nearest`, for who asks `similarity` anyway. */
  around(vector: Float32Array, filter: DrawerFilter, limit: number): Promise<number[]>;
  /** Cosines, best first. `vector` is Float32Array[dims], L2-normalised. */
  nearest(vector: Float32Array, filter: DrawerFilter, limit: number): Promise<Scored[]>;
  /** Cosine of each given row, NaN where it has no vector yet. Order as given. */
  similarity(vector: Float32Array, rows: readonly number[]): Promise<number[]>;
  /** Takes over what a commit changed; searches asked afterwards see it. */
  refresh(changes: Pick<Changes, "written" | "removed">): Promise<void>;
}

export type ModelIdentity = { id: string; dimensions: number };

/** A number for each text, higher answers the question better. Errors: STORE_UNAVAILABLE, also when it is not done in time. */
export interface Reranker {
  rerank(question: string, texts: readonly string[], timeoutMs: number): Promise<number[]>;
}

/** Texts to vectors. */
export interface Embedder {
  readonly identity: ModelIdentity;
  /** Shape: one Float32Array[dimensions], L2-normalised, per text, order as given. */
  embed(texts: readonly string[]): Promise<Float32Array[]>;
  close(): Promise<void>;
}

// --- the public palace ----------------------------------------------------------------------------------------------

export type PalaceRecord = { id: string; text: string; metadata: Metadata; vector: Float32Array };

/**
 * Keeps the public palace true (design.md 7). One port, one contract test (test/contract/palace-driver.test.ts),
 * several implementations: `files`, `chroma`, `memory` (tests).
 * Concurrency: the outbox is the only caller and calls one method at a time; `query` and `ids` may come in between.
 * Errors: STORE_UNAVAILABLE when the palace cannot be reached now (the outbox retries), STORE_CORRUPT when it answers
 * that it is damaged, CONFIG_BAD_VALUE when it can never work so (quota, dimension).
 */
export interface PalaceDriver {
  readonly kind: "files" | "chroma" | "memory";
  /** Names the place written to; another target means that everything is sent again. */
  readonly target: string;
  /** Names the collection in Chroma's own files; undefined until it is open, or where there are none. */
  readonly collectionId: string | undefined;
  /** Counts how often opening it has put the palace right, whereby something may have got lost; absent: it never does. */
  readonly repairs?: number;
  /** Most records in one upsert or remove. */
  readonly recordsMax: number;
  /** Makes the collections if needed. Idempotent. */
  open(): Promise<void>;
  /** Idempotent: metadata is replaced as a whole, keys that are not given are gone afterwards. */
  upsert(records: readonly PalaceRecord[]): Promise<void>;
  /** Idempotent: unknown ids are ignored. */
  remove(ids: readonly string[]): Promise<void>;
  count(): Promise<number>;
  /** All ids, ordered by the palace; for verification. */
  ids(offset: number, limit: number): Promise<string[]>;
  query(vector: Float32Array, filter: PlaceFilter, limit: number): Promise<{ id: string; cosine: number }[]>;
  close(): Promise<void>;
}

/** A drawer whose newest state the palace does not hold yet. `seq` orders; a newer change has a higher one. */
export type OutboxEntry = { seq: number; id: string; record: PalaceRecord | null };

/** The durable list the outbox works off; kept by the ledger in the same transaction as the drawer. */
export interface OutboxSource {
  /** Oldest first. `record: null` = remove. A drawer is listed from the moment it has its vector. */
  peek(limit: number): OutboxEntry[];
  /** Forgets the entries, each only if it has not changed since it was peeked at. */
  done(entries: readonly { id: string; seq: number }[]): Promise<void>;
  /** `awaitingVector` drawers are not listed yet and count on top of `entries`. */
  lag(): { entries: number; oldestAtMs: number | null; awaitingVector: number };
  /** Lists every drawer again when `target` is not the one written to so far. */
  retarget(target: string): Promise<void>;
}
