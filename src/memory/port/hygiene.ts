/** Forgetting, and undoing what an agent wrote. Implemented in ledger/. */
import type { Forgotten } from "../../protocol/hygiene.ts";
import type { Drawer } from "./drawer.ts";
import type { LinkKind } from "./graph.ts";

/** Exactly one of them is given. `match`: every drawer, fact and link that holds the text, to the character. */
export type ForgetSelector = {
  ids?: readonly string[];
  source?: string;
  match?: string;
  /** Beside `match`: numbers that stand for its concepts, in questions that are kept. */
  concepts?: readonly number[];
  /** Beside `match`: its concepts as graphs have them in names. */
  words?: readonly string[];
};

/** Everything that a selector names. */
export type Found = {
  /** Rows, with all slices of a split drawer. */
  drawers: Drawer[];
  /** Ids that were given and do not exist. */
  missing: string[];
  facts: string[];
  entities: string[];
  links: { kind: LinkKind; id: string }[];
  /** Entries of a Roampal's graphs. */
  carried: string[];
};

/** Concurrency and errors: as LedgerTx; both read the whole ledger. */
export interface ForgetTx {
  find(selector: ForgetSelector): Found;
  /** Also cleans the journal and the before-images of what names or holds it; nothing of it can be undone. */
  forget(found: Found, selector: ForgetSelector, atMs: number): Forgotten;
}

/** Journal rows of other memories. `id`: the time and the key of the write; `body`: the other columns as a JSON array. */
export interface ImportedTx {
  /** True if it came before, or if this memory itself did the write. */
  has(id: string): boolean;
  put(id: string, body: string): void;
  /** The retention has deleted rows that are older than this, ms. */
  readonly keptFromMs: number;
}

/** One thing that an agent changed. `by`: who changed it since, if it cannot go back. */
export type UndoItem =
  | { kind: string; id: string; change: "remove" | "restore" | "revert" }
  | { kind: string; id: string; change: "refused"; by: string };
/** One change that is taken back. `text`: the text that is removed or restored, or a fact's words; absent if it has no words. */
export type PlannedUndo = UndoItem & { text?: string };

/** The changes of an agent that are taken back. `writes`: the agent's writes that arrived in that time; for `tooOld` ones the changes are no longer known. */
export type UndoPlan<Item = UndoItem> = {
  items: Item[];
  writes: number;
  tooOld: number;
  /** Writes that their client dates before their arrival, and the earliest of those dates, ms. */
  dated: number;
  earliestMs: number | null;
  /** Latest arrival of these writes; if there are none, the arrival of the agent's newest write, ms. */
  latestMs: number | null;
  /** Everybody who wrote in that time. */
  agents: string[];
};

/** Concurrency and errors: as LedgerTx. */
export interface UndoTx {
  /** The first `textsMax` of its items with their texts. */
  plan(agent: string, sinceMs: number, untilMs: number, textsMax: number): UndoPlan<PlannedUndo>;
  undo(agent: string, sinceMs: number, untilMs: number): UndoPlan;
}
