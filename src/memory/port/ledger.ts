/** The ledger as the engine and the broker see it: a write, its transaction, its reader. Implemented in ledger/. */
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
 * One write transaction as the engine sees it. Concurrency: synchronous, on the writer thread, never across an await.
 * Errors: STORE_* from the implementation; the whole call is rolled back then.
 */
export interface LedgerTx {
  findDrawer(id: string): Drawer | undefined;
  /** Adds drawers. Add all drawers of a write in one call. The ids must not exist; check that before. */
  insertDrawers(drawers: readonly NewDrawer[]): void;
  /** Replaces text and/or metadata under the same id and row. */
  updateDrawer(id: string, change: { text?: string; metadata: Metadata }): void;
  /** Ignores an id that does not exist. */
  deleteDrawer(id: string): void;
  /** Deletes many at once, which takes less time. Ignores ids that do not exist. */
  deleteDrawers(ids: readonly string[]): void;
  /**
   * Returns the slices of a long drawer or diary entry, whatever their ids, in the order of the text; empty if `id` is not of a split one.
   */
  slicesOf(id: string): Drawer[];
  /** Returns how many drawers have that source_file, and the first few of their places. */
  placesOfSource(sourceFile: string): { drawers: number; places: { wing: string; room: string }[] };
  /** Deletes every drawer with that source_file, in any wing; returns how many. */
  deleteSource(sourceFile: string): number;
  putSource(source: SourceRow): void;
  /** Returns the source's filing record. Its `sha256` is empty if the source is not filed. */
  findSource(sourceFile: string): SourceRow | undefined;
  readonly graph: GraphTx;
  readonly closets: ClosetTx;
  /** Deletes the drawers of a group, of one wing or of all; returns how many. A feeder then files the source again. */
  deleteSourceGroup(group: SourceGroup, wing: string | undefined): number;
  /** Returns every drawer with that source_file, in any wing, in row order; none for an empty name. */
  drawersOfSource(sourceFile: string): Drawer[];
  readonly parts: PartTx;
  readonly standings: StandingTx;
  readonly conversations: ConversationTx;
  readonly carried: CarriedTx;
  readonly imported: ImportedTx;
  /** Returns those of the drawers that a write of that agent has changed, as far back as writes can be undone. */
  changedBy(agent: string, ids: readonly string[]): Set<string>;
  /** Returns the same as `changedBy`, for the writes of one method by any agent. */
  changedByMethod(method: string, ids: readonly string[]): Set<string>;
  /** Returns the same as `lastChangedBy`, for the writes of one method by any agent. */
  lastChangedByMethod(method: string, ids: readonly string[]): Set<string>;
  /** Returns the drawers, out of these, whose last change was a write of that agent. */
  lastChangedBy(agent: string, ids: readonly string[]): Set<string>;
  /** Returns how many drawers a room holds, kept by the ledger. */
  drawersIn(wing: string, room: string): number;
  readonly forget: ForgetTx;
  readonly undo: UndoTx;
  /** Returns the recipe of new drawers' ids: the recipe of the palace's own rows, `v3` if it has none (upstream-latest.md 2.3). */
  idRecipe(): IdRecipe;
}

/** Lookups that forgetting needs for drawers and texts of another wing. */
export type Traces = Readonly<{
  /** Returns the id that a drawer has now, for an id under which it was shown; undefined for an unknown one. */
  idNow(tx: LedgerTx, id: string): string | undefined;
  /** Returns the concepts of a text and their numbers, which are kept in place of its words. */
  conceptsOf(text: string): { words: readonly string[]; concepts: readonly number[] };
  /** Returns the file of a graph entry, which is shown in place of its name. */
  fileOf(entry: string): string;
}>;

/** A slice of a transcript. `opening`: the row in which its exchange begins; `said`: the beginning of the user's words there. */
export type TalkSlice = { row: number; source: string; wing: string; opening: number; said: string };

/** Reads that are fast at any size. Concurrency: synchronous; sees only committed state. */
export interface LedgerReader {
  findDrawer(id: string): Drawer | undefined;
  /** Returns the same as LedgerTx.slicesOf. */
  slicesOf(id: string): Drawer[];
  drawersByRow(rows: readonly number[]): Drawer[];
  /** Returns drawers of one source in one wing whose `chunk_index` is `first` to `last`, in that order, up to a bound. */
  slicesOfSource(range: { sourceFile: string; wing: string; first: number; last: number }): Drawer[];
  /** Returns the row in which the exchange begins that the drawer is a slice of; undefined if that is unknown. */
  exchangeOf(drawer: Drawer): number | undefined;
  /** Returns those of the rows that are slices of a transcript in which only the assistant speaks. */
  assistantRows(rows: readonly number[]): Set<number>;
  /** Returns those of the rows that are slices of a transcript, in row order. */
  talkSlices(rows: readonly number[]): TalkSlice[];
  /** In row order, found in an index. */
  listDrawers(filter: DrawerFilter, limit: number, offset: number): { drawers: Drawer[]; total: number };
  /**
   * Returns drawers by id; a split drawer is one drawer. `total` counts the same way. Rows after a drawer's first 200 characters have only
   * an id.
   */
  listLogical(
    filter: Omit<DrawerFilter, "sourceFile">,
    limit: number,
    offset: number,
  ): { drawers: LogicalDrawer[]; total: number };
  /** Tells whether the palace has diary entries whose slices name them by `parent_entry_id` alone, as MemPalace before 3.11 cut them. */
  holdsOldSlices(): boolean;
  /** Returns the recipe of the palace's ids. */
  idRecipe(): IdRecipe;
  /** Returns drawers of a place, the newest first; a split drawer is its first slice. `total` counts them the same way. */
  listNewest(place: PlaceFilter, limit: number, offset: number): { drawers: Drawer[]; total: number };
  /** Drawer counts by wing and room, in which a split drawer counts once. */
  wholePlaces(): { wing: string; room: string; drawers: number }[];
  /** Returns ids of at most `limit` whole drawers that begin with `part`, or whose hash does. */
  idsByPart(part: string, limit: number): string[];
  /** Drawer counts by wing and room, kept by the ledger, so the cost does not grow with the drawers. */
  places(): { wing: string; room: string; drawers: number }[];
  /** Tells whether the place has drawers. */
  holds(place: PlaceFilter): boolean;
  /** Returns the last `limit` drawers filed, in row order. */
  newestDrawers(wing: string | undefined, limit: number): Drawer[];
  /** Returns the last `limit` drawers that no miner made, in row order: of these wings, or of all others with `isOutside`. */
  newestNotes(wings: readonly string[], isOutside: boolean, limit: number): Drawer[];
  /** Returns the standings of those drawers that ever had an outcome. */
  standings(ids: readonly string[]): Map<string, Standing>;
  /** Returns a drawer's newest outcomes, the last one last. */
  scored(id: string): Scored[];
  /**
   * Returns, for each concept, the newest outcomes of memories that were shown for a question with that concept; each outcome once.
   * `collections`: the only ones to read; undefined: all.
   */
  answered(concepts: readonly number[], collections?: readonly string[]): Answered[];
  /** Outcomes of drawers with a known question, by drawer. */
  toldOf(ids: readonly string[]): Map<string, Told>;
  /** Counts the outcomes on record that were told since that time. */
  toldSince(atMs: number): Told;
  /** Counts drawers by the day on which they were filed, oldest first. The day '' has drawers with an unknown day. */
  growth(): { day: string; drawers: number }[];
  /** Returns the newest outcomes of a collection's memories that were shown in conversations of that kind. */
  toldIn(context: string, collection: string): Told;
  /** Returns entries of Roampal's graphs after the entry `id`, by id, up to `bytes` but at least one. */
  carriedAfter(id: string, limit: number, bytes: number): { id: string; value: string }[];
  isCarried(id: string): boolean;
  /** Returns ids of all that are kept. */
  conversations(): string[];
  conversation(id: string): Conversation | undefined;
  /** Returns where a drawer was shown, the newest first. */
  showings(id: string, limit: number): { conversation: string; turn: number; at: string }[];
  /** Returns the drawers that were shown in the conversation. */
  shownIn(conversation: string): Set<string>;
  shownAt(conversation: string, turn: number): string[];
  /** Turns in which drawers were shown, the newest conversation first. */
  turns(filter: TurnFilter, limit: number, offset: number): { turns: ShownTurn[]; total: number };
  /** Showings and what came of them, by week and agent, the oldest first. */
  helpedByWeek(prefix: string): HelpedWeek[];
  diaryEntries(agent: string, wing: string | undefined): Drawer[];
  /** Undefined means all wings. */
  sources(wing: string | undefined): SourceRow[];
  /**
   * Returns sources of a place whose names end with this path, but for case and separators; if there are none, sources whose file
   * names are like it. Reads the names of all sources.
   */
  sourcesLike(path: string, place: PlaceFilter, limit: number): string[];
  /** Sources without a filing record of ours, page by page. */
  minedSources(query: MinedQuery): MinedPage;
  readonly graph: GraphReader;
  readonly closets: ClosetReader;
  /** Returns all drawers by source, of one wing or of all. Reads every drawer once. */
  sourceGroups(wing: string | undefined): SourceGroup[];
}

/** A write in the form in which the queue and the journal hold it. Plain data: it crosses to the writer thread. */
export type WriteCall = {
  /** Idempotency key; always present: the broker makes one where the client sent none. */
  key: string;
  /** The client made the key, and may send the call again with it. */
  isRepeatable: boolean;
  /** Tool or method name without prefix: `add_drawer`, `source.replace`. */
  method: string;
  params: Record<string, unknown>;
  /** The peer: agent name, door, user and process. */
  peer: { agent: string; door: string; uid: number; pid: number };
  requestId: string;
  /** The time of writing. A spooled write keeps the time that its client claims. */
  atMs: number;
  /** The time of arrival at the broker, if it differs. */
  arrivedAtMs?: number;
  /**
   * Data that the broker's main thread computed for the write. They are not part of the call's identity: a repeated call may have others.
   */
  findings?: unknown;
};

/** Rows a commit touched, for the indexes outside the ledger. */
export type Changes = {
  /** Number of new drawers: no index outside the ledger knows them before they have a vector. */
  added: number;
  /** Rows whose text, place or vector changed. */
  written: number[];
  removed: number[];
  /** Rows of the graph that were changed. */
  graph: number;
  /** Closets that were written or deleted. */
  closets: number;
};

/** The outcome of a write. `value` is the tool's result, or the RPC error that the tool answers with. */
export type WriteOutcome = {
  outcome: { ok: true; value: unknown } | { ok: false; error: { code: number; message: string; data?: unknown } };
  replayed: boolean;
};

/** Drawer without a vector. `textVersion` changes with the text. */
export type PendingText = { row: number; textVersion: number; text: string };

/** Makes the static vector of a text (index/static), quantized. */
export type StaticCode = (text: string) => Code;

/** Makes the words that the full text of a drawer lacks (index/lexical/cut.ts), "" if it lacks none. */
export type FormsOf = (text: string) => string;

/** Returns the headings above each drawer of a document, "" for none. `slices`: the texts of its drawers in the order of the document. */
export type HeadingsAbove = (sourceFile: string, slices: readonly string[]) => string[];

/**
 * Functions that the ledger calls for each text, and for each changed document. If one is missing, maintenance adds the rows later.
 */
export type Derived = { staticCode?: StaticCode; formsOf?: FormsOf; headingsAbove?: HeadingsAbove };

/** Vector of a row. `textVersion`: version of the text that it was made from. The ledger drops a vector of an older version. */
export type NewVector = { row: number; textVersion: number; vector: Float32Array };
