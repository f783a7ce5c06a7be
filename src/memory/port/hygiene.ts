/** Forgetting, and undoing what an agent wrote. Implemented in ledger/. */
import type { Forgotten } from "../../protocol/hygiene.ts";
import type { Drawer } from "./drawer.ts";
import type { LinkKind } from "./graph.ts";

/**
 * Selects the rows to forget; exactly one of the first three fields is given. `match`: every drawer, fact and link that contains exactly
 * this text.
 */
export type ForgetSelector = {
  ids?: readonly string[];
  source?: string;
  match?: string;
  /** With `match`: numbers of the text's concepts, as stored questions have them. */
  concepts?: readonly number[];
  /** With `match`: the text's concepts, as names in Roampal's graphs have them. */
  words?: readonly string[];
};

/** Rows that a selector matches. */
export type Found = {
  /** Matching drawers, with all slices of a split drawer. */
  drawers: Drawer[];
  /** Ids in the selector that no drawer has. */
  missing: string[];
  facts: string[];
  entities: string[];
  links: { kind: LinkKind; id: string }[];
  /** Ids of entries of Roampal's graphs. */
  carried: string[];
};

/** Finds and forgets rows; both read the whole ledger. Concurrency and errors: as LedgerTx. */
export interface ForgetTx {
  find(selector: ForgetSelector): Found;
  /** Deletes the rows, and removes their words from the journal and the before-images. Cannot be undone. */
  forget(found: Found, selector: ForgetSelector, atMs: number): Forgotten;
}

/** Journal rows of other memories. `id`: the time and the key of the write; `body`: the other columns as a JSON array. */
export interface ImportedTx {
  /** Returns true if the row was imported before, or if this memory itself did the write that the row records. */
  has(id: string): boolean;
  put(id: string, body: string): void;
  /** Time, ms, before which the journal has no rows, because older rows are deleted. */
  readonly keptFromMs: number;
}

/** Row that an agent changed. `by`: the agent that has changed the row since, if the row cannot be restored. */
export type UndoItem =
  | { kind: string; id: string; change: "remove" | "restore" | "revert" }
  | { kind: string; id: string; change: "refused"; by: string };
/** Change to be undone. `text`: the removed or restored text, or a fact's words; absent for a change without text. */
export type PlannedUndo = UndoItem & { text?: string };

/**
 * Changes of an agent to be undone. `writes`: number of the agent's writes in the `UndoWindow`. `tooOld`: number of these writes whose
 * before-images are deleted.
 */
export type UndoPlan<Item = UndoItem> = {
  items: Item[];
  writes: number;
  tooOld: number;
  /** Number of writes whose client claims an earlier time than their arrival. `earliestMs`: the earliest of these times. */
  dated: number;
  earliestMs: number | null;
  /** Arrival of the latest of the agent's writes in the `UndoWindow`, ms; if there are none, of the agent's newest write. */
  latestMs: number | null;
  /** Names of all agents that wrote in the `UndoWindow`. */
  agents: string[];
};

/** Writes to undo: the writes of `agent` that arrived from `sinceMs` to `untilMs`. `seq`: journal row of the only write to undo. */
export type UndoWindow = { agent: string; sinceMs: number; untilMs: number; seq: number | null };

/** Plans an undo, and does it. Concurrency and errors: as LedgerTx. */
export interface UndoTx {
  /** Returns what an undo would do. Only the first `textsMax` items have texts. */
  plan(window: UndoWindow, textsMax: number): UndoPlan<PlannedUndo>;
  undo(window: UndoWindow): UndoPlan;
}
