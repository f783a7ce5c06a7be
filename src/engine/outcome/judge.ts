/** One outcome of one drawer, whoever has told it: it is noted beside the drawer, which goes where that leads. Source: outcome-memory.md 2.6. */
import type { Drawer } from "../../port/drawer.ts";
import type { MemoryTx } from "../../port/memory.ts";
import type { Question, Scored } from "../../port/outcome.ts";
import { afterOutcome, afterPerson, type Verdict as Judged } from "./outcome.ts";
import { fate } from "./promotion.ts";
import { afterSignal, isSignal, SIGNALS } from "./signal.ts";
import { follow, toMemory, unjudged } from "./store.ts";

/** `question`: what the memory was shown for, where that is known. */
export type Verdict = Omit<Scored, "weight" | "question"> & { question: Question | undefined };

/**
 * Returns the score for which the memory was taken out; undefined where it is still there. A book's chunk is never judged by its outcomes: asked for, it is as it is. But it is known what it has answered.
 */
export function judge(tx: MemoryTx, drawer: Drawer, { question: asked, ...verdict }: Verdict): number | undefined {
  const before = tx.standings.find(drawer.id);
  const memory = toMemory(drawer, before);
  const question = asked === undefined || memory === undefined ? null : { ...asked, collection: memory.collection };
  const told = { ...verdict, question };
  const { source, outcome, atMs } = told;
  const known = before ?? unjudged(drawer);
  if (memory?.collection === "books") {
    if (question !== null) tx.standings.put(drawer.id, known, { ...told, weight: 0 });
    return undefined;
  }
  const weight = isSignal(source) ? SIGNALS[source].weight : 1;
  const one = { outcome, atMs, reason: null, weight };
  const standing = isSignal(source)
    ? afterSignal(known, source, atMs)
    : source === "user"
      ? afterPerson(known, [...wordsOfPerson(tx, drawer.id), one], unjudged(drawer))
      : afterOutcome(known, one);
  tx.standings.put(drawer.id, standing, { ...told, weight });
  if (memory === undefined) return undefined;
  // Of one whose time cannot be read nobody knows that it is old.
  const ageMs = Number.isNaN(memory.madeMs) ? 0 : atMs - memory.madeMs;
  const next = fate(memory.collection, standing, ageMs);
  // It was as bad before the signal.
  if (next.kind === "goes" && isSignal(source)) return undefined;
  follow(tx, { ...memory, standing }, next, atMs);
  return next.kind === "goes" ? standing.score : undefined;
}

function wordsOfPerson(tx: MemoryTx, id: string): Judged[] {
  return tx.standings
    .scored(id)
    .filter(({ source }) => source === "user")
    .map(({ outcome, atMs, weight }) => ({ outcome, atMs, weight, reason: null }));
}
