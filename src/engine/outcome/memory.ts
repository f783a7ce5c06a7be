/**
 * What a memory with outcomes is: one of five collections, an id that names it, and what its outcomes add up to. The shapes of
 * the folder's other files. Source: outcome-memory.md 2.1–2.4.
 */

/** In the order in which all of them are meant. */
export const COLLECTIONS = ["working", "patterns", "history", "books", "memory_bank"] as const;
export type Collection = (typeof COLLECTIONS)[number];

/** Those that outcomes move, and delete from. */
export const MOVING = ["working", "history", "patterns"] as const satisfies readonly Collection[];
export type Moving = (typeof MOVING)[number];

export const OUTCOMES = ["worked", "failed", "partial", "unknown"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** An outcome that counts: `unknown` changes nothing. */
export type Telling = Exclude<Outcome, "unknown">;

export type PastOutcome = { outcome: Telling; atMs: number; reason: string | null };

/** What a memory's outcomes add up to. */
export type Standing = {
  /** 0…1, six decimals. */
  score: number;
  uses: number;
  /** `worked` counts 1, `partial` 0.5; it is never capped, and survives a move. */
  successes: number;
  lastUsedMs: number | null;
  /** The newest is last. */
  past: readonly PastOutcome[];
};

/** Of a fact that an agent chose to keep, 0…1 each. */
export type Weight = { importance: number; confidence: number };

export const USUAL_WEIGHT: Weight = { importance: 0.7, confidence: 0.7 };

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
