/** Defines the collections and ids of memories, and the standing of a new one (outcome-memory.md 2.1–2.4). */
import type { Outcome, Standing } from "../../memory/port/outcome.ts";
import { sha256Hex } from "../../memory/text/text.ts";

/** Collections, in the order in which a search reads them. */
export const COLLECTIONS = ["working", "patterns", "history", "books", "memory_bank"] as const;
export type Collection = (typeof COLLECTIONS)[number];

/** Collections whose memories outcomes can move or delete. */
export const MOVING = ["working", "history", "patterns"] as const satisfies readonly Collection[];
export type Moving = (typeof MOVING)[number];

export const OUTCOMES = ["worked", "failed", "partial", "unknown"] as const satisfies readonly Outcome[];

/** Weight of a fact; both fields are 0…1. */
export type Weight = { importance: number; confidence: number };

export const USUAL_WEIGHT: Weight = { importance: 0.7, confidence: 0.7 };

/** Score of a new memory. Facts start at 1 because an agent chose to store them. */
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

/** Matches ids of all memories except chunks of books. A move changes the id's collection but not its eight digits. */
const MOVABLE_ID = /^(?:working|history|patterns|memory_bank)_([0-9a-f]{8})$/;
/** Matches ids of a book's chunks. Roampal 0.3.6 wrote `book_` instead of `books_`. */
const BOOK_ID = /^books?_[0-9a-f]{8}_chunk_\d+$/;

/** Returns false for ids of drawers that other programs filed in the same room. */
export function isMemoryId(id: string): boolean {
  return MOVABLE_ID.test(id) || BOOK_ID.test(id);
}

/** Returns the memory's id in `collection`; a chunk of a book keeps its id. */
export function idIn(collection: Collection, id: string): string {
  const digits = MOVABLE_ID.exec(id)?.[1];
  return digits === undefined ? id : `${collection}_${digits}`;
}

/** Matches ids that cannot break a prompt: letters, digits, `_`, `.` and `-`. */
const PLAIN_ID = /^[\w.-]+$/;

/** Returns the id if it is safe in a prompt, else a safe id made from it. */
export function plainId(id: string): string {
  return PLAIN_ID.test(id) ? id : `imported_${sha256Hex(id).slice(0, 24)}`;
}

/** Returns every id that a memory may have had in a collection; none for a chunk of a book. */
export function idsOf(id: string): string[] {
  return MOVABLE_ID.test(id) ? COLLECTIONS.filter((name) => name !== "books").map((name) => idIn(name, id)) : [];
}
