/** Decides whether a memory moves, stays or is deleted after an outcome. Pure. Source: outcome-memory.md 2.7. */
import type { Standing } from "../../memory/port/outcome.ts";
import { isMoving, type Collection, type Moving } from "../memory/memory.ts";

export const SCORES = { highValue: 0.9, promotion: 0.7, demotion: 0.4, deletion: 0.2, newDeletion: 0.1 } as const;
const NEW_MS = 7 * 86_400_000;

export type Fate = { kind: "stays" } | { kind: "moves"; to: Moving } | { kind: "goes" };

type Judged = Pick<Standing, "score" | "uses" | "successes">;

export function destination(collection: Collection, { score, uses, successes }: Judged): Moving | undefined {
  if (collection === "working" && score >= SCORES.promotion && uses >= 2) return "history";
  if (collection === "history" && score >= SCORES.highValue && uses >= 3 && successes >= 5) return "patterns";
  if (collection === "patterns" && score < SCORES.demotion) return "history";
  return undefined;
}

/** `ageMs`: time since the memory's creation. In its first seven days a memory is deleted only below `newDeletion`. */
export function fate(collection: Collection, standing: Judged, ageMs: number): Fate {
  const to = destination(collection, standing);
  if (to !== undefined) return { kind: "moves", to };
  const least = ageMs <= NEW_MS ? SCORES.newDeletion : SCORES.deletion;
  return isMoving(collection) && standing.score < least ? { kind: "goes" } : { kind: "stays" };
}
