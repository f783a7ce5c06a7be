/** Forgetting, and taking back what an agent wrote. Implemented in ledger/. */
import type { Forgotten } from "../protocol/hygiene.ts";
import type { Drawer } from "./drawer.ts";
import type { LinkKind } from "./graph.ts";

/** One of them is given. `match`: every drawer, fact and link that holds the text, to the character. */
export type ForgetSelector = { ids?: readonly string[]; source?: string; match?: string };

export type Found = {
  /** Rows, with all slices of a split drawer. */
  drawers: Drawer[];
  /** Ids that were given and are none. */
  missing: string[];
  facts: string[];
  entities: string[];
  links: { kind: LinkKind; id: string }[];
};

/** Concurrency and errors: as LedgerTx; both read the whole ledger. */
export interface ForgetTx {
  find(selector: ForgetSelector): Found;
  /** Also what names or holds it in the journal and among the before-images; nothing of it can be taken back. */
  forget(found: Found, selector: ForgetSelector, atMs: number): Forgotten;
}

/** One thing an agent changed. `by`: who changed it since, where it cannot go back. */
export type UndoItem =
  | { kind: string; id: string; change: "remove" | "restore" | "revert" }
  | { kind: string; id: string; change: "refused"; by: string };
/** `text`: of what goes away, or is to come back; a fact's words; none of what has no words. */
export type PlannedUndo = UndoItem & { text?: string };

/** `writes` of the agent that arrived in that time; of `tooOld` ones it is no longer known what they changed. */
export type UndoPlan<Item = UndoItem> = {
  items: Item[];
  writes: number;
  tooOld: number;
  /** Writes that their client dates before their arrival, and the earliest of those dates, ms. */
  dated: number;
  earliestMs: number | null;
  /** Who wrote in that time at all. */
  agents: string[];
};

/** Concurrency and errors: as LedgerTx. */
export interface UndoTx {
  /** The first `textsMax` of its items with their texts. */
  plan(agent: string, sinceMs: number, untilMs: number, textsMax: number): UndoPlan<PlannedUndo>;
  undo(agent: string, sinceMs: number, untilMs: number): UndoPlan;
}
