/** Decides by a memory's age whether it stays, moves or is deleted. Pure. Source: outcome-memory.md 2.8. */
import type { Standing } from "../../memory/port/outcome.ts";
import { isMoving, type Collection } from "../memory/memory.ts";
import { destination, type Fate, SCORES } from "./promotion.ts";

const HOUR_MS = 3_600_000;
/** Age above which a memory moves or is deleted, ms, from its creation, not from its last move. */
const LIFETIMES_MS = { working: 24 * HOUR_MS, history: 720 * HOUR_MS } as const;

/** A memory that has earned its promotion is moved, not deleted. */
export function aged(collection: Collection, standing: Standing, ageMs: number): Fate {
  if (collection !== "working" && collection !== "history") return { kind: "stays" };
  if (ageMs <= LIFETIMES_MS[collection]) return { kind: "stays" };
  const to = destination(collection, standing);
  return to === undefined ? { kind: "goes" } : { kind: "moves", to };
}

/** Returns true for a score so low that a starting broker deletes the memory, whatever its age. */
export function isGarbage(collection: Collection, { score }: Pick<Standing, "score">): boolean {
  return isMoving(collection) && score < SCORES.deletion;
}
