/**
 * `score_memories`: each memory that was shown has its outcome, and goes where that leads. Any other drawer may be scored, too: it
 * keeps its place, and carries what came of it. Source: outcome-memory.md 2.6, 4.9, 5.6.
 */
import type { LedgerTx, WriteCall } from "../../port/ledger.ts";
import type { Outcome } from "../../port/outcome.ts";
import { isRecord } from "../../platform/is-record.ts";
import { InvalidValue } from "../text/validate.ts";
import { isOutcome, newStanding, OUTCOMES } from "./memory.ts";
import { afterOutcome } from "./outcome.ts";
import { fate } from "./promotion.ts";
import { findShown, follow, toMemory } from "./store.ts";

/** Of one call; a turn shows four. */
const SCORED_MAX = 100;
const USUAL_SCORE = 0.5;

export function scoreMemories(tx: LedgerTx, call: WriteCall): string {
  const outcome = readOutcome(call.params["outcome"] ?? "unknown", "outcome");
  const found = readScores(call.params["memory_scores"]).filter(([id, one]) => scored(tx, call, id, one));
  return `Scored (outcome=${outcome}, ${found.length} memories updated)`;
}

/** False for an id that names nothing. A book's chunk is never judged by its outcomes: asked for, it is as it is. */
function scored(tx: LedgerTx, { atMs }: WriteCall, id: string, outcome: Outcome): boolean {
  const drawer = findShown(tx, id);
  if (drawer === undefined) return false;
  if (outcome === "unknown") return true;
  const before = tx.standings.find(drawer.id);
  const memory = toMemory(drawer, before);
  if (memory?.collection === "books") return true;
  const verdict = { outcome, atMs, reason: null, weight: 1 };
  const standing = afterOutcome(memory?.standing ?? before ?? newStanding(USUAL_SCORE), verdict);
  tx.standings.put(drawer.id, standing);
  if (memory === undefined) return true;
  const now = { ...memory, standing };
  follow(tx, now, fate(memory.collection, standing, atMs - memory.madeMs), atMs);
  return true;
}

function readScores(given: unknown): [id: string, outcome: Outcome][] {
  if (given === undefined || given === null) return [];
  if (!isRecord(given)) throw new InvalidValue("memory_scores must be an object: a memory's id, and its outcome");
  const scores = Object.entries(given);
  if (scores.length > SCORED_MAX) throw new InvalidValue(`memory_scores holds more than ${SCORED_MAX} ids`);
  return scores.map(([id, outcome]) => [id, readOutcome(outcome, `memory_scores["${id}"]`)]);
}

function readOutcome(given: unknown, name: string): Outcome {
  if (isOutcome(given)) return given;
  throw new InvalidValue(`${name} must be one of ${OUTCOMES.join(", ")}`);
}
