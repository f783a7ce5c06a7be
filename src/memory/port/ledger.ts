/** The ledger as the engine and the broker use it: a write, its transaction, its reader. */
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

/** One write transaction. Concurrency: synchronous, on the writer thread. Errors: STORE_*, after which the whole call is rolled back. */
export interface LedgerTx {
  findDrawer(id: string): Drawer | undefined;
  /** Adds drawers. Their ids must be new. One call for all drawers of a write is fastest. */
  insertDrawers(drawers: readonly NewDrawer[]): void;
  /** Replaces the metadata, and the text if given. Id and row stay the same. */
  updateDrawer(id: string, change: { text?: string; metadata: Metadata }): void;
  deleteDrawer(id: string): void;
  /** Deletes drawers in one step, which is faster than many calls. Ignores ids that do not exist. */
  deleteDrawers(ids: readonly string[]): void;
  /** Returns the slices of a long drawer or diary entry, in the order of the text. Empty if `id` is not split. */
  slicesOf(id: string): Drawer[];
  /** Returns the number of drawers with that source_file, and the first five wings and rooms that contain them. */
  placesOfSource(sourceFile: string): { drawers: number; places: { wing: string; room: string }[] };
  /** Deletes the drawers with that source_file in all wings. Returns their number. */
  deleteSource(sourceFile: string): number;
  putSource(source: SourceRow): void;
  /** Returns the source's filing record. Its `sha256` is empty if the source is not filed. */
  findSource(sourceFile: string): SourceRow | undefined;
  readonly graph: GraphTx;
  readonly closets: ClosetTx;
  /** Deletes the group's drawers, in one wing or in all, so that a feeder files the source again. Returns their number. */
  deleteSourceGroup(group: SourceGroup, wing: string | undefined): number;
  /** Returns the drawers with that source_file in all wings, in row order. Empty for an empty name. */
  drawersOfSource(sourceFile: string): Drawer[];
  readonly parts: PartTx;
  readonly standings: StandingTx;
  readonly conversations: ConversationTx;
  readonly carried: CarriedTx;
  readonly imported: ImportedTx;
  /** Returns the ids whose drawers were changed by writes of `agent` that still have before-images. */
  changedBy(agent: string, ids: readonly string[]): Set<string>;
  changedByMethod(method: string, ids: readonly string[]): Set<string>;
  /** Returns the ids whose last change was a write of `method`. `among`: only writes of these methods count. */
  lastChangedByMethod(method: string, ids: readonly string[], among?: readonly string[]): Set<string>;
  drawersIn(wing: string, room: string): number;
  readonly forget: ForgetTx;
  readonly undo: UndoTx;
  /** Returns the recipe for new ids: the recipe of the palace's own rows, else `v3` (upstream-latest.md 2.3). */
  idRecipe(): IdRecipe;
}

/** Functions with which `forget` finds the data that src/learning stores about drawers and texts. */
export type Traces = Readonly<{
  /** Returns the present id of a drawer that was shown under the id `id`; undefined for an unknown drawer. */
  idNow(tx: LedgerTx, id: string): string | undefined;
  /** Returns a text's concepts (its topic words), and the numbers under which these are stored. */
  conceptsOf(text: string): { words: readonly string[]; concepts: readonly number[] };
  /** Returns the name of the Roampal graph that has the entry. Answers do not show an entry's id, because the id has the user's words. */
  fileOf(entry: string): string;
}>;

/** A slice of a transcript. `opening`: the first row of its exchange. `said`: the beginning of the user's words in `opening`. */
export type TalkSlice = { row: number; source: string; wing: string; opening: number; said: string };

/** Reads, which are fast at any size unless their comment says otherwise. Concurrency: synchronous; sees only committed state. */
export interface LedgerReader {
  findDrawer(id: string): Drawer | undefined;
  slicesOf(id: string): Drawer[];
  drawersByRow(rows: readonly number[]): Drawer[];
  /** Returns drawers of one source in one wing with a `chunk_index` from `first` to `last`, in that order, up to a limit. */
  slicesOfSource(range: { sourceFile: string; wing: string; first: number; last: number }): Drawer[];
  /** Returns the first row of the exchange (question and answer) that the drawer is part of; undefined if it is unknown. */
  exchangeOf(drawer: Drawer): number | undefined;
  /** Returns the rows that are slices of a transcript with only the assistant's words. */
  assistantRows(rows: readonly number[]): Set<number>;
  /** Returns, in row order, the rows that are slices of a transcript and whose exchange is known. */
  talkSlices(rows: readonly number[]): TalkSlice[];
  /** Returns drawers in row order. `total`: number of drawers that pass the filter. */
  listDrawers(filter: DrawerFilter, limit: number, offset: number): { drawers: Drawer[]; total: number };
  /** Returns drawers, sorted by id. A split drawer counts once, also in `total`. Slices beyond its first 200 characters have no text. */
  listLogical(
    filter: Omit<DrawerFilter, "sourceFile">,
    limit: number,
    offset: number,
  ): { drawers: LogicalDrawer[]; total: number };
  /** Returns true if a diary slice names its whole entry only by `parent_entry_id`, as MemPalace before 3.11 wrote it. */
  holdsOldSlices(): boolean;
  idRecipe(): IdRecipe;
  /** Returns drawers, the newest first. A split drawer is returned as its first slice, and counts once in `total`. */
  listNewest(place: PlaceFilter, limit: number, offset: number): { drawers: Drawer[]; total: number };
  /** Counts the drawers by wing and room. A split drawer counts once. */
  wholePlaces(): { wing: string; room: string; drawers: number }[];
  /** Returns whole drawers' ids that begin with `part` or, if none does, whose hash begins with `part`. */
  idsByPart(part: string, limit: number): string[];
  /** Works like `idsByPart` for deleted drawers whose old texts the journal still has. */
  deletedIdsByPart(part: string, limit: number): string[];
  /** Counts the rows by wing and room. Each slice counts. */
  places(): { wing: string; room: string; drawers: number }[];
  holds(place: PlaceFilter): boolean;
  /** Returns the drawers that were filed last, in row order. */
  newestDrawers(wing: string | undefined, limit: number): Drawer[];
  /** Returns the last drawers that no miner made, in row order. `isOutside`: reads all wings except `wings`. */
  newestNotes(wings: readonly string[], isOutside: boolean, limit: number): Drawer[];
  /** Returns the standings of drawers. Leaves out drawers that never had an outcome. */
  standings(ids: readonly string[]): Map<string, Standing>;
  /** Returns a drawer's newest outcomes, oldest first. */
  scored(id: string): Scored[];
  /** Returns the newest outcomes of memories for questions with one of these concepts. `collections`: undefined means all. */
  answered(concepts: readonly number[], collections?: readonly string[]): Answered[];
  /** Counts for each drawer the outcomes whose question is known. */
  toldOf(ids: readonly string[]): Map<string, Told>;
  /** Counts the stored outcomes since `atMs`. */
  toldSince(atMs: number): Promise<Told>;
  /** Counts drawers by the day on which they were filed, oldest first. The day '' means unknown. */
  growth(): { day: string; drawers: number }[];
  /** Counts the newest outcomes of memories of a collection that were shown in conversations of the kind `context`. */
  toldIn(context: string, collection: string): Told;
  /** Returns entries of Roampal's graphs by id, after the entry `id`: about `bytes` in total, but at least one entry. */
  carriedAfter(id: string, limit: number, bytes: number): { id: string; value: string }[];
  isCarried(id: string): boolean;
  conversations(): string[];
  conversation(id: string): Conversation | undefined;
  /** Returns the turns in which the drawer was shown, the newest first. */
  showings(id: string, limit: number): { conversation: string; turn: number; at: string }[];
  /** Returns the drawers that were shown in the conversation and that its agent still sees. */
  shownIn(conversation: string): Set<string>;
  shownAt(conversation: string, turn: number): string[];
  /** Returns turns in which drawers were shown, the newest conversation first. */
  turns(filter: TurnFilter, limit: number, offset: number): { turns: ShownTurn[]; total: number };
  /** Counts shown drawers and their last outcomes by week and agent, the oldest week first. `prefix`: as in TurnFilter. */
  helpedByWeek(prefix: string): Promise<HelpedWeek[]>;
  diaryEntries(agent: string, wing: string | undefined): Drawer[];
  /** Returns filed sources. `wing`: undefined means all wings. */
  sources(wing: string | undefined): SourceRow[];
  /** Returns sources whose names end with `path` or, if none does, sources with similar file names. Reads the names of all sources. */
  sourcesLike(path: string, place: PlaceFilter, limit: number): string[];
  /** Returns a page of the mined sources for which we have no filing record. */
  minedSources(query: MinedQuery): MinedPage;
  readonly graph: GraphReader;
  readonly closets: ClosetReader;
  /** Groups all drawers by source. Reads every drawer once. */
  sourceGroups(wing: string | undefined): SourceGroup[];
}

/** A write as the queue and the journal store it. It is plain data, because it is sent to the writer thread. */
export type WriteCall = {
  /** Idempotency key. The broker makes a key if the client sent none. */
  key: string;
  /** True if the client made the key, so that it may repeat the call. */
  isRepeatable: boolean;
  /** Name of the tool or method without prefix, such as `add_drawer` or `source.replace`. */
  method: string;
  params: Record<string, unknown>;
  peer: { agent: string; door: string; uid: number; pid: number };
  requestId: string;
  /** Time of writing, ms. A spooled write has the time that its client claims. */
  atMs: number;
  /** Time of arrival at the broker, ms, if it differs from `atMs`. */
  arrivedAtMs?: number;
  /** Data that the broker's main thread computed for the write. A repeated call may have other data. */
  findings?: unknown;
};

/** Rows that a commit changed, for the indexes outside the ledger. */
export type Changes = {
  /** Number of new drawers. The indexes outside the ledger get a drawer when it has a vector. */
  added: number;
  /** Rows whose text, wing, room or vector changed. */
  written: number[];
  removed: number[];
  /** Number of changed rows of other tables, such as the graph's. */
  graph: number;
  closets: number;
};

/** Outcome of a write. `value`: the tool's result; `error`: the RPC error. */
export type WriteOutcome = {
  outcome: { ok: true; value: unknown } | { ok: false; error: { code: number; message: string; data?: unknown } };
  replayed: boolean;
};

/** A text that waits for its vector. `textVersion` changes with the text. */
export type PendingText = { row: number; textVersion: number; text: string };

/** Makes the quantized static vector of a text. */
export type StaticCode = (text: string) => Code;

/** Returns the forms of a text's words that `drawer_fts` lacks (index/lexical/cut.ts), or "". */
export type FormsOf = (text: string) => string;

/** Returns the headings above each drawer of a document, or "". `slices`: the drawers' texts in order. */
export type HeadingsAbove = (sourceFile: string, slices: readonly string[]) => string[];

/** Functions that the ledger calls for each text or changed document. If a function is missing, maintenance adds the values later. */
export type Derived = { staticCode?: StaticCode; formsOf?: FormsOf; headingsAbove?: HeadingsAbove };

/** Vector of a row. The ledger drops it if the text has another `textVersion` now. */
export type NewVector = { row: number; textVersion: number; vector: Float32Array };
