/** Which entities a memory is about, and what it is worth that a question names them. Pure. Source: outcome-memory.md 2.9, 8.6. */
import { concepts } from "./concepts.ts";

const BOOST_PART = 0.2;
const BOOST_MAX = 0.5;
const NUMBER = /^\d+$/;

export function entitiesOf(text: string): string[] {
  return concepts(text).filter((concept) => !NUMBER.test(concept));
}

/** How good the facts are that an entity is named in; memories without a quality lower it. */
export function averageQuality({ mentions, quality }: { mentions: number; quality: number }): number {
  return mentions === 0 ? 0 : quality / mentions;
}

/** 1…1.5. `qualities`: of the entities that the question and the memory share. */
export function entityBoost(qualities: readonly number[]): number {
  return 1 + Math.min(BOOST_PART * qualities.reduce((sum, one) => sum + one, 0), BOOST_MAX);
}

/** How strongly two entities belong together that stand in so many memories at once. */
export function strength(together: number): number {
  return Math.round(2 * Math.sqrt(together) * 100) / 100;
}
