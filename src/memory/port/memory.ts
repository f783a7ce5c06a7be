/** The part of the ledger that outcome memory uses, limited to one Roampal profile. */
import type { LedgerReader, LedgerTx } from "./ledger.ts";
import type { StandingTx } from "./outcome.ts";
import type { LexicalIndex, VectorIndex } from "./search.ts";

/** One profile inside a write transaction. Concurrency and errors: as LedgerTx. */
export type MemoryTx = Pick<
  LedgerTx,
  | "findDrawer"
  | "insertDrawers"
  | "updateDrawer"
  | "deleteDrawer"
  | "drawersOfSource"
  | "deleteSource"
  | "drawersIn"
  | "conversations"
  | "carried"
  | "changedBy"
  | "lastChangedByMethod"
> & {
  /** Adds the profile to the text from which an id is made, so that each profile gets a different id for the same text. */
  seed(text: string): string;
  /** Returns true if a drawer of any profile has that id. */
  isTaken(id: string): boolean;
  readonly standings: Pick<StandingTx, "find" | "put" | "scored">;
};

/** Reads of one profile. Concurrency: as LedgerReader. */
export type MemoryReader = Pick<
  LedgerReader,
  | "findDrawer"
  | "drawersByRow"
  | "listDrawers"
  | "places"
  | "standings"
  | "scored"
  | "answered"
  | "toldOf"
  | "toldIn"
  | "conversation"
  | "conversations"
  | "showings"
  | "shownIn"
  | "shownAt"
  | "turns"
  | "helpedByWeek"
  | "graph"
>;

/** Indexes that recall uses. */
export type MemoryIndexes = {
  lexical: Pick<LexicalIndex, "candidates">;
  vectors: Pick<VectorIndex, "around" | "similarity">;
};
