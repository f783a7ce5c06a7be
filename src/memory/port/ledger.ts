/** The ledger as the engine and the broker use it: a write, its transaction, its reader. Implemented in ledger/. */
import type { Code } from "../../base/quantize.ts";
import type { ClosetTx, ClosetReader } from "./closet.ts";
import type { Metadata, Drawer, LogicalDrawer, NewDrawer, DrawerFilter, IdRecipe, PlaceFilter } from "./drawer.ts";
import type { GraphTx, GraphReader } from "./graph.ts";
import type {
  Answered,
  CarriedTx,
  Conversation,
  ConversationTx,
  HelpedWeek,
  Scored,
  ShownTurn,
  Standing,
  StandingTx,
  Told,
  TurnFilter,
} from "./outcome.ts";
import type { ForgetTx, ImportedTx, UndoTx } from "./hygiene.ts";
import type { SourceRow, MinedQuery, MinedPage, SourceGroup, PartTx } from "./source.ts";

/**
 * One write transaction for the engine. Concurrency: synchronous, on the writer thread, never across an await. Errors: STORE_* from the
 * implementation, which then rolls back the whole call.
 */
export interface LedgerTx {
  findDrawer(id: string): Drawer | undefined;
  /** Adds drawers. Add all drawers of a write in one call. The ids must not exist; check this before the call. */
  insertDrawers(drawers: readonly NewDrawer[]): void;
  /** Replaces the metadata, and the text if given, under the same id and row. */
  updateDrawer(id: string, change: { text?: string; metadata: Metadata }): void;
  /** Deletes a drawer. Ignores an id that does not exist. */
  deleteDrawer(id: string): void;
  /** Deletes many drawers in one step, which is faster. Ignores ids that do not exist. */
  deleteDrawers(ids: readonly string[]): void;
  /** Returns the slices of a long drawer or diary entry in the order of the text, whatever ids they have. Empty if `id` is not split. */
  slicesOf(id: string): Drawer[];
  /** Returns the number of drawers with that source_file, and the first few of their places. */
  placesOfSource(sourceFile: string): { drawers: number; places: { wing: string; room: string }[] };
  /** Deletes every drawer with that source_file, in any wing. Returns the number of deleted drawers. */
  deleteSource(sourceFile: string): number;
  putSource(source: SourceRow): void;
  /** Returns the source's filing record. Its `sha256` is empty if the source is not filed. */
  findSource(sourceFile: string): SourceRow | undefined;
  readonly graph: GraphTx;
  readonly closets: ClosetTx;
  /** Deletes the group's drawers, in one wing or in all, so that a feeder files the source again. Returns their number. */
  deleteSourceGroup(group: SourceGroup, wing: string | undefined): number;
  /** Returns every drawer with that source_file, in any wing, in row order. Returns no drawers for an empty name. */
  drawersOfSource(sourceFile: string): Drawer[];
  readonly parts: PartTx;
  readonly standings: StandingTx;
  readonly conversations: ConversationTx;
  readonly carried: CarriedTx;
  readonly imported: ImportedTx;
  /** Returns the ids whose drawers a write of `agent` has changed, as far back as writes can be undone. */
  changedBy(agent: string, ids: readonly string[]): Set<string>;
  /** Returns the ids whose drawers a write of `method`, by any agent, has changed. */
  changedByMethod(method: string, ids: readonly string[]): Set<string>;
  /** Returns the ids whose drawers were last changed by a write of `method`. `among`: counts only writes of these methods. */
  lastChangedByMethod(method: string, ids: readonly string[], among?: readonly string[]): Set<string>;
  /** Returns the number of drawers in a room. The ledger keeps this count. */
  drawersIn(wing: string, room: string): number;
  readonly forget: ForgetTx;
  readonly undo: UndoTx;
  /** Returns the recipe for new drawers' ids. It is the recipe of the palace's own rows, else `v3` (upstream-latest.md 2.3). */
  idRecipe(): IdRecipe;
}

/** Functions of `learning` that forgetting needs for memories with outcomes. */
export type Traces = Readonly<{
  /** Returns the present id of a drawer that was shown under the id `id`; undefined for an unknown drawer. */
  idNow(tx: LedgerTx, id: string): string | undefined;
  /** Returns the concepts of a text, and the numbers that are stored instead of their words. */
  conceptsOf(text: string): { words: readonly string[]; concepts: readonly number[] };
  /** Returns the name of the file that a graph entry is from. Answers show this name, because the entry's own name has the user's words. */
  fileOf(entry: string): string;
}>;

/** A slice of a transcript. `opening`: the row in which its exchange begins. `said`: the beginning of the user's words in that row. */
export type TalkSlice = { row: number; source: string; wing: string; opening: number; said: string };

/** Reads that are fast at any size. Concurrency: synchronous; sees only committed state. */
export interface LedgerReader {
  findDrawer(id: string): Drawer | undefined;
  /** Returns the slices of a long drawer or diary entry, in the order of the text. */
  slicesOf(id: string): Drawer[];
  drawersByRow(rows: readonly number[]): Drawer[];
  /** Returns drawers of one source in one wing with a `chunk_index` from `first` to `last`, in that order, up to a limit. */
  slicesOfSource(range: { sourceFile: string; wing: string; first: number; last: number }): Drawer[];
  /** Returns the first row of the exchange that the drawer is a slice of; undefined if it is unknown. */
  exchangeOf(drawer: Drawer): number | undefined;
  /** Returns those of the rows that are slices of a transcript and have only the assistant's words. */
  assistantRows(rows: readonly number[]): Set<number>;
  /** Returns those of the rows that are slices of a transcript, in row order. */
  talkSlices(rows: readonly number[]): TalkSlice[];
  /** Returns drawers in row order, and the number of all drawers that pass the filter. Finds them in an index. */
  listDrawers(filter: DrawerFilter, limit: number, offset: number): { drawers: Drawer[]; total: number };
  /**
   * Returns drawers by id; a split drawer is one drawer, also in `total`. Of a drawer's rows only those with its first 200 characters have
   * a text; the others have only an id.
   */
  listLogical(
    filter: Omit<DrawerFilter, "sourceFile">,
    limit: number,
    offset: number,
  ): { drawers: LogicalDrawer[]; total: number };
  /** Returns true if slices of diary entries name their entry only by `parent_entry_id`, as slices by MemPalace before 3.11 do. */
  holdsOldSlices(): boolean;
  /** Returns the recipe of the palace's ids. */
  idRecipe(): IdRecipe;
  /** Returns drawers of a place, the newest first. A split drawer is returned as its first slice, and counts once in `total`. */
  listNewest(place: PlaceFilter, limit: number, offset: number): { drawers: Drawer[]; total: number };
  /** Returns the number of drawers by wing and room. A split drawer counts once. */
  wholePlaces(): { wing: string; room: string; drawers: number }[];
  /** Returns the ids of at most `limit` whole drawers, whose id or hash begins with `part`. */
  idsByPart(part: string, limit: number): string[];
  /** Does the same as `idsByPart` for deleted drawers whose old texts the journal still has. */
  deletedIdsByPart(part: string, limit: number): string[];
  /** Returns the number of rows by wing and room. The ledger keeps these counts, so the call is fast at any size. */
  places(): { wing: string; room: string; drawers: number }[];
  /** Returns true if the place has drawers. */
  holds(place: PlaceFilter): boolean;
  /** Returns the `limit` drawers that were filed last, in row order. */
  newestDrawers(wing: string | undefined, limit: number): Drawer[];
  /** Returns the last `limit` drawers that no miner made, in row order: drawers in `wings` or, with `isOutside`, in all other wings. */
  newestNotes(wings: readonly string[], isOutside: boolean, limit: number): Drawer[];
  /** Returns the standings (sums of outcomes) of the given drawers, if they ever had an outcome. */
  standings(ids: readonly string[]): Map<string, Standing>;
  /** Returns a drawer's newest outcomes, the newest last. */
  scored(id: string): Scored[];
  /**
   * Returns, for each concept, the newest outcomes of memories that were shown for a question with this concept. An outcome is returned
   * only once. `collections`: the only collections to read; undefined means all.
   */
  answered(concepts: readonly number[], collections?: readonly string[]): Answered[];
  /** Returns for each drawer the number of its outcomes whose question is known. */
  toldOf(ids: readonly string[]): Map<string, Told>;
  /** Counts the stored outcomes that were given since `atMs`. */
  toldSince(atMs: number): Promise<Told>;
  /** Counts drawers by the day on which they were filed, oldest first. The day '' counts drawers with an unknown day. */
  growth(): { day: string; drawers: number }[];
  /** Counts the newest outcomes of a collection's memories that were shown in conversations of the kind `context`. */
  toldIn(context: string, collection: string): Told;
  /** Returns entries of Roampal's graphs, by id, that come after the entry `id`: at most `bytes` in total, but at least one entry. */
  carriedAfter(id: string, limit: number, bytes: number): { id: string; value: string }[];
  isCarried(id: string): boolean;
  /** Returns the ids of all stored conversations. */
  conversations(): string[];
  conversation(id: string): Conversation | undefined;
  /** Returns the turns in which a drawer was shown, the newest first. */
  showings(id: string, limit: number): { conversation: string; turn: number; at: string }[];
  /** Returns the drawers that were shown in the conversation. */
  shownIn(conversation: string): Set<string>;
  shownAt(conversation: string, turn: number): string[];
  /** Returns turns in which drawers were shown, the newest conversation first. */
  turns(filter: TurnFilter, limit: number, offset: number): { turns: ShownTurn[]; total: number };
  /** Counts how often drawers were shown, and the last outcomes of these showings, by week and agent, the oldest week first. */
  helpedByWeek(prefix: string): Promise<HelpedWeek[]>;
  diaryEntries(agent: string, wing: string | undefined): Drawer[];
  /** Returns the filed sources of a wing; undefined means all wings. */
  sources(wing: string | undefined): SourceRow[];
  /**
   * Returns sources of a place whose names end with this path, ignoring case and separators. If no name does, returns sources with similar
   * file names. Reads the names of all sources.
   */
  sourcesLike(path: string, place: PlaceFilter, limit: number): string[];
  /** Returns the sources for which we have no filing record, page by page. */
  minedSources(query: MinedQuery): MinedPage;
  readonly graph: GraphReader;
  readonly closets: ClosetReader;
  /** Returns all drawers by source, of one wing or of all. Reads every drawer once. */
  sourceGroups(wing: string | undefined): SourceGroup[];
}

/** A write in the form that the queue and the journal store. It is plain data, because it is sent to the writer thread. */
export type WriteCall = {
  /** Idempotency key. It is always present: the broker makes a key if the client sent none. */
  key: string;
  /** True if the client made the key, so that the client may repeat the call with the same key. */
  isRepeatable: boolean;
  /** Tool or method name without prefix: `add_drawer`, `source.replace`. */
  method: string;
  params: Record<string, unknown>;
  /** The peer: agent name, door, user and process. */
  peer: { agent: string; door: string; uid: number; pid: number };
  requestId: string;
  /** The time of writing, ms. A spooled write keeps the time that its client claims. */
  atMs: number;
  /** The time of arrival at the broker, ms, if it differs from `atMs`. */
  arrivedAtMs?: number;
  /** Data that the broker's main thread computed for the write. They do not identify the call: a repeated call may have other data. */
  findings?: unknown;
};

/** Rows that a commit changed, for the indexes outside the ledger. */
export type Changes = {
  /** Number of new drawers. The indexes outside the ledger do not have a drawer before it has a vector. */
  added: number;
  /** Rows whose text, place or vector changed. */
  written: number[];
  removed: number[];
  /** Number of changed rows of the graph. */
  graph: number;
  /** Number of closets that were written or deleted. */
  closets: number;
};

/** The outcome of a write. `value` is the tool's result, or the RPC error that the tool answers with. */
export type WriteOutcome = {
  outcome: { ok: true; value: unknown } | { ok: false; error: { code: number; message: string; data?: unknown } };
  replayed: boolean;
};

/** Drawer without a vector. `textVersion` changes with the text. */
export type PendingText = { row: number; textVersion: number; text: string };

/** Makes the quantized static vector of a text (index/static). */
export type StaticCode = (text: string) => Code;

/** Returns forms of a text's words that its full-text row lacks (index/lexical/cut.ts); "" if it lacks no form. */
export type FormsOf = (text: string) => string;

/** Returns the headings above each drawer of a document, "" for none. `slices`: the drawers' texts in the order of the document. */
export type HeadingsAbove = (sourceFile: string, slices: readonly string[]) => string[];

/**
 * Functions that the ledger calls for each text, and for each changed document. If a function is missing, maintenance adds the rows later.
 */
export type Derived = { staticCode?: StaticCode; formsOf?: FormsOf; headingsAbove?: HeadingsAbove };

/** Vector of a row. `textVersion`: version of the text that was embedded. The ledger drops a vector of an older version. */
export type NewVector = { row: number; textVersion: number; vector: Float32Array };
