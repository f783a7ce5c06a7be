/**
 * `score_memories`: each memory that was shown has its outcome, and goes where that leads. Any other drawer may be scored, too: it
 * keeps its place, and carries what came of it. Source: outcome-memory.md 2.6, 4.9, 5.6.
 */
import type { Drawer } from "../../port/drawer.ts";
import type { LedgerTx, WriteCall } from "../../port/ledger.ts";
import type { Outcome, Telling } from "../../port/outcome.ts";
import { cut } from "../../platform/cut.ts";
import { isRecord } from "../../platform/is-record.ts";
import { InvalidValue } from "../text/validate.ts";
import { isOutcome, newStanding, OUTCOMES } from "./memory.ts";
import { afterOutcome } from "./outcome.ts";
import { fate } from "./promotion.ts";
import { findShown, follow, toMemory } from "./store.ts";

/** Of one call; a turn shows four. */
const SCORED_MAX = 100;
const USUAL_SCORE = 0.5;
/** An agent that was asked longer ago no longer answers. */
const OWED_MS = 30 * 60_000;

export function scoreMemories(tx: LedgerTx, call: WriteCall): string {
  const given = call.params["outcome"] ?? call.params["exchange_outcome"] ?? "unknown";
  const outcome = readOutcome(given, "outcome");
  // A memory that was shown twice, under the ids it had before and after a move, is judged once.
  const judged = new Map<string, { drawer: Drawer; outcome: Outcome }>();
  for (const [id, one] of readScores(call.params["memory_scores"])) {
    const drawer = findShown(tx, id);
    if (drawer !== undefined) judged.set(drawer.id, { drawer, outcome: one });
  }
  for (const { drawer, outcome: one } of judged.values()) if (one !== "unknown") judge(tx, call, drawer, one);
  const exchange = answered(tx, call, [...judged.keys()]);
  if (exchange !== undefined && outcome !== "unknown" && !judged.has(exchange.id)) judge(tx, call, exchange, outcome);
  return `Scored (outcome=${outcome}, ${judged.size} memories updated)`;
}

/**
 * The exchange that the outcome is of, marked as scored: of the conversation that was shown one of the memories, else of the only one
 * that this agent owes a score. Undefined where it was scored before, or nobody knows which one is meant.
 */
function answered(tx: LedgerTx, { peer, atMs }: WriteCall, scored: readonly string[]): Drawer | undefined {
  const owing = tx.conversations.asked(peer.agent, atMs - OWED_MS);
  const conversation = tx.conversations.shownOneOf(scored) ?? (owing.length === 1 ? owing[0] : undefined);
  if (conversation === undefined || conversation.isScored || !conversation.isAsked) return undefined;
  tx.conversations.put({ ...conversation, isScored: true });
  return conversation.exchange === null ? undefined : tx.findDrawer(conversation.exchange);
}

/** A book's chunk is never judged by its outcomes: asked for, it is as it is. */
function judge(tx: LedgerTx, { atMs }: WriteCall, drawer: Drawer, outcome: Telling): void {
  const before = tx.standings.find(drawer.id);
  const memory = toMemory(drawer, before);
  if (memory?.collection === "books") return;
  const verdict = { outcome, atMs, reason: null, weight: 1 };
  const standing = afterOutcome(memory?.standing ?? before ?? newStanding(USUAL_SCORE), verdict);
  tx.standings.put(drawer.id, standing);
  if (memory === undefined) return;
  // Of one whose time cannot be read nobody knows that it is old.
  const ageMs = Number.isNaN(memory.madeMs) ? 0 : atMs - memory.madeMs;
  follow(tx, { ...memory, standing }, fate(memory.collection, standing, ageMs), atMs);
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
  throw new InvalidValue(`${cut(name)} must be one of ${OUTCOMES.join(", ")}`);
}
