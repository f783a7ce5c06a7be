/** Applies a cross-encoder's scores to the order (outcome-memory.md 3.5). The model does not know a memory's outcomes. */
import type { Standing } from "../../memory/port/outcome.ts";
import type { Weight } from "../memory/memory.ts";
import { quality } from "./ranking.ts";

/** Maximum number of candidates that the cross-encoder reads, best first. */
export const READ_MAX = 30;
export const READ_CHARACTERS = 512;
const SETTLED_USES = 3;

type Read = { standing: Pick<Standing, "uses">; fact: Weight | undefined; before: number };

/** Returns how well a text answers the question, 0…1. `logit`: the model's output, unbounded. */
export function fitOf(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

/** Combines a memory's likeness to the question (`before`) with the cross-encoder's `fit`. `fact`: weight of a memory that is a fact. */
export function reread({ standing, fact, before }: Read, fit: number): number {
  if (standing.uses >= SETTLED_USES) return before;
  return fact === undefined ? 0.6 * before + 0.4 * fit : (0.7 * before + 0.3 * fit) * (1 + 0.3 * quality(fact));
}
