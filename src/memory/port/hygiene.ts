/** Interfaces and types of forgetting and of undo. */
import type { Forgotten } from "../../protocol/hygiene.ts";
import type { Drawer } from "./drawer.ts";
import type { LinkKind } from "./graph.ts";

/** Rows to forget. Exactly one of `ids`, `source` and `match` is given. `match` selects every row that contains exactly this text. */
export type ForgetSelector = {
  ids?: readonly string[];
  source?: string;
  match?: string;
  /** With `match`: the text's concepts (its topic words) as numbers, as in stored questions. */
  concepts?: readonly number[];
  /** With `match`: the text's concepts as words. Roampal's graphs have such words in the names of their entries. */
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
  /** Ids of matching entries in imported Roampal graphs. */
  carried: string[];
};

/** Finds and forgets rows. A call may read the whole ledger. Concurrency and errors: as LedgerTx. */
export interface ForgetTx {
  find(selector: ForgetSelector): Found;
  /** Deletes the rows, and removes their words from the journal and the before-images. This cannot be undone. */
  forget(found: Found, selector: ForgetSelector, atMs: number): Forgotten;
}

/** Journal rows of other memories. `id`: the write's time and key; `body`: the other columns as a JSON array. */
export interface ImportedTx {
  /** Returns true if the row was imported earlier, or if it records a write that was made in this memory. */
  has(id: string): boolean;
  put(id: string, body: string): void;
  /** Unix time, ms, before which the journal's rows have been deleted. */
  readonly keptFromMs: number;
}

/** A row that the agent changed. `by`: another agent that changed the row later, so the undo leaves the row as it is. */
export type UndoItem =
  | { kind: string; id: string; change: "remove" | "restore" | "revert" }
  | { kind: string; id: string; change: "refused"; by: string };
/** An item with the removed or restored text, or the words of a fact. Other changes have no `text`. */
export type PlannedUndo = UndoItem & { text?: string };

/** Changes to be undone. `writes`: number of the agent's writes in the window. `tooOld`: number of them whose before-images are deleted. */
export type UndoPlan<Item = UndoItem> = {
  items: Item[];
  writes: number;
  tooOld: number;
  /** Number of writes for which the client claims an earlier time than their arrival. `earliestMs`: the earliest claimed time. */
  dated: number;
  earliestMs: number | null;
  /** Arrival of the agent's last write in the window, ms; if the window has none, of the agent's last write at all. */
  latestMs: number | null;
  /** Up to 20 agents that wrote in the window, the agent with the most writes first. */
  agents: string[];
};

/** Writes to undo: the writes of `agent` that arrived from `sinceMs` to `untilMs`. `seq`: journal row if only one write is to be undone. */
export type UndoWindow = { agent: string; sinceMs: number; untilMs: number; seq: number | null };

/** Plans and executes an undo. Concurrency and errors: as LedgerTx. */
export interface UndoTx {
  /** Returns what an undo would do. Only the first `textsMax` items have texts. */
  plan(window: UndoWindow, textsMax: number): UndoPlan<PlannedUndo>;
  undo(window: UndoWindow): UndoPlan;
}
