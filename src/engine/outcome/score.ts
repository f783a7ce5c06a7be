/**
 * `score_memories`: each memory that was shown has its outcome, and goes where that leads. Any other drawer may be scored, too: it
 * keeps its place, and carries what came of it. Source: outcome-memory.md 2.6, 4.9, 5.6.
 */
import type { Drawer } from "../../port/drawer.ts";
import type { LedgerTx, WriteCall } from "../../port/ledger.ts";
import type { Conversation, Outcome } from "../../port/outcome.ts";
import { cut } from "../../platform/cut.ts";
import { isRecord } from "../../platform/is-record.ts";
import { PERSON } from "../../protocol/agent-name.ts";
import { InvalidValue } from "../text/validate.ts";
import { judge } from "./judge.ts";
import { isOutcome, OUTCOMES } from "./memory.ts";
import { findShown } from "./store.ts";

/** Of one call; a turn shows four. */
const SCORED_MAX = 100;
/** An agent that was asked longer ago no longer answers. */
const OWED_MS = 30 * 60_000;

export function scoreMemories(tx: LedgerTx, call: WriteCall): string {
  const given = call.params["outcome"] ?? call.params["exchange_outcome"] ?? "unknown";
  const outcome = readOutcome(given, "outcome");
  // A memory that was shown twice, under the ids it had before and after a move, is judged once.
  const judged = new Map<string, { drawer: Drawer; outcome: Outcome }>();
  const scores = readScores(call.params["memory_scores"]);
  for (const [id, one] of scores) {
    const drawer = findShown(tx, id);
    if (drawer !== undefined) judged.set(drawer.id, { drawer, outcome: one });
  }
  const isPerson = call.peer.agent === PERSON;
  // A person sets right what stands there, whatever was scored in a conversation.
  const conversation = isPerson ? undefined : owing(tx, call, [...judged.keys()], scores.length > 0);
  const fresh = [...judged.values()].filter(({ drawer }) => conversation?.scored.includes(drawer.id) !== true);
  const told = {
    ...({ atMs: call.atMs, source: isPerson ? "user" : "agent" } as const),
    ...{ conversation: conversation?.id ?? null, exchange: conversation?.exchange ?? null },
  };
  for (const { drawer, outcome: one } of fresh) if (one !== "unknown") judge(tx, drawer, { ...told, outcome: one });
  if (conversation !== undefined) {
    const { exchange, isScored, scored } = conversation;
    const answer = exchange === null || isScored ? undefined : tx.findDrawer(exchange);
    if (answer !== undefined && outcome !== "unknown" && !judged.has(answer.id))
      judge(tx, answer, { ...told, outcome });
    tx.conversations.put({ ...conversation, isScored: true, scored: [...new Set([...scored, ...judged.keys()])] });
  }
  return `Scored (outcome=${outcome}, ${judged.size} memories updated)`;
}

/**
 * The conversation that the scores are of: the one of this agent that was shown most of the memories for the exchange it is asked about,
 * else the only one that owes a score. Undefined where nobody knows which one is meant.
 */
function owing(
  tx: LedgerTx,
  { peer, atMs }: WriteCall,
  judged: readonly string[],
  hasIds: boolean,
): Conversation | undefined {
  const asked = tx.conversations.asked(atMs - OWED_MS);
  const own = asked.filter(({ agent }) => agent === peer.agent);
  const shown = (own.length > 0 ? own : asked).map((one) => {
    const ids = new Set(tx.conversations.shownAt(one.id, one.turn - 1));
    return { one, count: judged.filter((id) => ids.has(id)).length };
  });
  const most = Math.max(0, ...shown.map(({ count }) => count));
  const meant = most === 0 ? [] : shown.filter(({ count }) => count === most).map(({ one }) => one);
  if (meant.length > 0) return only(meant);
  // Scores of memories that are gone are of nobody.
  return hasIds && judged.length === 0 ? undefined : only(own.filter(({ isScored }) => !isScored));
}

function only<T>(list: readonly T[]): T | undefined {
  return list.length === 1 ? list[0] : undefined;
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
