/**
 * What a memory with outcomes is: one of five collections, an id that names it, and what its outcomes add up to. The shapes of
 * the folder's other files. Source: outcome-memory.md 2.1–2.4.
 */
import type { Outcome, Standing } from "../../port/outcome.ts";
import { sha256Hex } from "../text/text.ts";

/** In the order in which all of them are meant. */
export const COLLECTIONS = ["working", "patterns", "history", "books", "memory_bank"] as const;
export type Collection = (typeof COLLECTIONS)[number];

/** Those that outcomes move, and delete from. */
export const MOVING = ["working", "history", "patterns"] as const satisfies readonly Collection[];
export type Moving = (typeof MOVING)[number];

export const OUTCOMES = ["worked", "failed", "partial", "unknown"] as const satisfies readonly Outcome[];

/** Of a fact that an agent chose to keep, 0…1 each. */
export type Weight = { importance: number; confidence: number };

export const USUAL_WEIGHT: Weight = { importance: 0.7, confidence: 0.7 };

/** Of a new memory: facts are chosen, the others have yet to show. */
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

/** Ids of those that move: a collection, and eight digits that are the memory's own in all of them. */
const MOVABLE_ID = /^(?:working|history|patterns|memory_bank)_([0-9a-f]{8})$/;
/** `book_` is how 0.3.6 wrote `books_`. */
const BOOK_ID = /^books?_[0-9a-f]{8}_chunk_\d+$/;

/** False for what others have filed in a memory's place. */
export function isMemoryId(id: string): boolean {
  return MOVABLE_ID.test(id) || BOOK_ID.test(id);
}

/** The id of that memory in a collection. */
export function idIn(collection: Collection, id: string): string {
  const digits = MOVABLE_ID.exec(id)?.[1];
  return digits === undefined ? id : `${collection}_${digits}`;
}

/** None of these characters means anything in a prompt. */
const PLAIN_ID = /^[\w.-]+$/;

/**
 * Returns the id under which a memory of a Roampal is filed here, and any memory enters a prompt: its own, or one that is made of it if
 * it has other characters. Older imports have filed any text as an id.
 */
export function plainId(id: string): string {
  return PLAIN_ID.test(id) ? id : `imported_${sha256Hex(id).slice(0, 24)}`;
}

/** Every id that the memory may have been given out under; none for a book's chunk, which has one alone. */
export function idsOf(id: string): string[] {
  return MOVABLE_ID.test(id) ? COLLECTIONS.filter((name) => name !== "books").map((name) => idIn(name, id)) : [];
}
