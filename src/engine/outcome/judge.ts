/** One outcome of one drawer, whoever has told it: it is noted beside the drawer, which goes where that leads. Source: outcome-memory.md 2.6. */
import type { Drawer } from "../../port/drawer.ts";
import type { LedgerTx } from "../../port/ledger.ts";
import type { Question, Scored } from "../../port/outcome.ts";
import { afterOutcome } from "./outcome.ts";
import { fate } from "./promotion.ts";
import { afterSignal, isSignal, SIGNALS } from "./signal.ts";
import { follow, toMemory, unjudged } from "./store.ts";

/** `question`: what the memory was shown for, where that is known. */
export type Verdict = Omit<Scored, "weight" | "question"> & { question: Question | undefined };

/** A book's chunk is never judged by its outcomes: asked for, it is as it is. But it is known what it has answered. */
export function judge(tx: LedgerTx, drawer: Drawer, { question: asked, ...verdict }: Verdict): void {
  const before = tx.standings.find(drawer.id);
  const memory = toMemory(drawer, before);
  const question = asked === undefined || memory === undefined ? null : { ...asked, collection: memory.collection };
  const told = { ...verdict, question };
  const { source, outcome, atMs } = told;
  const known = before ?? unjudged(drawer);
  if (memory?.collection === "books") {
    if (question !== null) tx.standings.put(drawer.id, known, { ...told, weight: 0 });
    return;
  }
  const weight = isSignal(source) ? SIGNALS[source].weight : 1;
  const standing = isSignal(source)
    ? afterSignal(known, source, atMs)
    : afterOutcome(known, { outcome, atMs, reason: null, weight });
  tx.standings.put(drawer.id, standing, { ...told, weight });
  if (memory === undefined) return;
  // Of one whose time cannot be read nobody knows that it is old.
  const ageMs = Number.isNaN(memory.madeMs) ? 0 : atMs - memory.madeMs;
  const next = fate(memory.collection, standing, ageMs);
  // It was as bad before the signal.
  if (next.kind === "goes" && isSignal(source)) return;
  follow(tx, { ...memory, standing }, next, atMs);
}
