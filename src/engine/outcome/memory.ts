/**
 * What a memory with outcomes is: one of five collections, an id that names it, and what its outcomes add up to. The shapes of
 * the folder's other files. Source: outcome-memory.md 2.1–2.4.
 */
import type { Outcome, Standing } from "../../port/outcome.ts";

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

/** The collection that an id names; `book_` is how 0.3.6 wrote `books_`. */
export function collectionOf(id: string): Collection | undefined {
  if (id.startsWith("book_")) return "books";
  return COLLECTIONS.find((name) => id.startsWith(`${name}_`));
}

/** The id after a move: it keeps what comes after the collection. */
export function movedId(id: string, from: Collection, to: Collection): string {
  return `${to}${id.slice(from.length)}`;
}
