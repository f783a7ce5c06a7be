/** Records an outcome of a drawer, from any source, and moves or deletes the drawer if needed (outcome-memory.md 2.6). */
import type { Drawer } from "../../memory/port/drawer.ts";
import type { MemoryTx } from "../../memory/port/memory.ts";
import type { Question, Scored } from "../../memory/port/outcome.ts";
import { afterOutcome, afterPerson, type Verdict as Judged } from "./apply-outcome.ts";
import { fate } from "./promotion.ts";
import { afterSignal, isSignal, SIGNALS } from "./signal.ts";
import { follow, toMemory, unjudged } from "../memory/as-drawer.ts";

/** Outcome to record. `question`: the question to which the memory was shown, if known. */
export type Verdict = Omit<Scored, "weight" | "question"> & { question: Question | undefined };

/** Returns the memory's score if the outcome deleted the memory. Outcomes do not change the standing of a book's chunk. */
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
  // A signal (an outcome that the host observes, scoring/signal.ts) never moves or deletes a memory.
  if (memory === undefined || isSignal(source)) return undefined;
  // If its creation time is unreadable, the memory counts as new.
  const ageMs = Number.isNaN(memory.madeMs) ? 0 : atMs - memory.madeMs;
  const next = fate(memory.collection, standing, ageMs);
  follow(tx, { ...memory, standing }, next, atMs);
  return next.kind === "goes" ? standing.score : undefined;
}

function wordsOfPerson(tx: MemoryTx, id: string): Judged[] {
  return tx.standings
    .scored(id)
    .filter(({ source }) => source === "user")
    .map(({ outcome, atMs, weight }) => ({ outcome, atMs, weight, reason: null }));
}
