/**
 * Defines a memory with outcomes: its collection (one of five), its id and the sum of its outcomes. The other files of this folder use
 * these types. Source: outcome-memory.md 2.1–2.4.
 */
import type { Outcome, Standing } from "../../memory/port/outcome.ts";
import { sha256Hex } from "../../memory/text/text.ts";

/** Collections, in the order in which a search reads them. */
export const COLLECTIONS = ["working", "patterns", "history", "books", "memory_bank"] as const;
export type Collection = (typeof COLLECTIONS)[number];

/** Collections between which outcomes move memories, and from which outcomes delete memories. */
export const MOVING = ["working", "history", "patterns"] as const satisfies readonly Collection[];
export type Moving = (typeof MOVING)[number];

export const OUTCOMES = ["worked", "failed", "partial", "unknown"] as const satisfies readonly Outcome[];

/** Weight of a fact that an agent keeps. Both fields are 0…1. */
export type Weight = { importance: number; confidence: number };

export const USUAL_WEIGHT: Weight = { importance: 0.7, confidence: 0.7 };

/** Score of a new memory. Facts start at 1 because an agent chose them; other memories have no outcome yet. */
export const USUAL_SCORE: Readonly<Record<Collection, number>> = {
  ...{ working: 0.5, patterns: 0.5, history: 0.5, books: 0.5 },
  memory_bank: 1,
};

export function newStanding(score: number): Standing {
  return { score, uses: 0, successes: 0, lastUsedMs: null, past: [] };
}

export function isCollection(name: unknown): name is Collection {
  return COLLECTIONS.includes(name as Collection);
}

export function isMoving(collection: Collection): collection is Moving {
  return MOVING.includes(collection as Moving);
}

export function isOutcome(value: unknown): value is Outcome {
  return OUTCOMES.includes(value as Outcome);
}

/** Matches ids of memories that move: a collection, and eight digits that stay the same in every collection. */
const MOVABLE_ID = /^(?:working|history|patterns|memory_bank)_([0-9a-f]{8})$/;
/** Matches ids of a book's chunks. Roampal 0.3.6 wrote `book_` instead of `books_`. */
const BOOK_ID = /^books?_[0-9a-f]{8}_chunk_\d+$/;

/** Returns true for a memory's id. Other programs may file drawers with other ids in the same room. */
export function isMemoryId(id: string): boolean {
  return MOVABLE_ID.test(id) || BOOK_ID.test(id);
}

/** Returns the id that the memory has in `collection`. */
export function idIn(collection: Collection, id: string): string {
  const digits = MOVABLE_ID.exec(id)?.[1];
  return digits === undefined ? id : `${collection}_${digits}`;
}

/** Matches ids that are safe inside a prompt: letters, digits, `_`, `.` and `-`. */
const PLAIN_ID = /^[\w.-]+$/;

/**
 * Returns the id under which a memory from Roampal is filed and shown in a prompt: its own id, or an id derived from it if it has unsafe
 * characters. (An older import may have filed any text as an id.)
 */
export function plainId(id: string): string {
  return PLAIN_ID.test(id) ? id : `imported_${sha256Hex(id).slice(0, 24)}`;
}

/** Returns every id under which the memory may have been shown; none for a book's chunk, which has only one id. */
export function idsOf(id: string): string[] {
  return MOVABLE_ID.test(id) ? COLLECTIONS.filter((name) => name !== "books").map((name) => idIn(name, id)) : [];
}
