/**
 * `score_memories`: each memory that was shown has its outcome, and goes where that leads. Any other drawer may be scored, too: it
 * keeps its place, and carries what came of it. Source: outcome-memory.md 2.6, 4.9, 5.6.
 */
import type { Drawer } from "../../port/drawer.ts";
import type { LedgerReader, LedgerTx, WriteCall } from "../../port/ledger.ts";
import type { Conversation, Outcome, Question } from "../../port/outcome.ts";
import { cut } from "../../platform/cut.ts";
import { isRecord } from "../../platform/is-record.ts";
import { PERSON } from "../../protocol/agent-name.ts";
import type { ScoreResult } from "../../protocol/outcome.ts";
import { asText, InvalidValue, validContent } from "../text/validate.ts";
import { keptExchange } from "./exchange.ts";
import { judge } from "./judge.ts";
import { isOutcome, OUTCOMES } from "./memory.ts";
import { questionOf } from "./question.ts";
import type { OwnSearches } from "./searched.ts";
import { findShown, isoTime, storeMemory } from "./store.ts";

/** Memories that one call may score; a turn shows four. */
const SCORED_MAX = 100;
/** An agent that was asked longer ago no longer answers. */
const OWED_MS = 30 * 60_000;
/** Names that clients give themselves, and what they say when they know of no conversation. */
const CLIENT_PREFIX = "mcp_";
const NO_TALK = "default";

/** Findings of a score: by drawer, what the agent has searched when it found it. */
export type Searched = Readonly<Record<string, Question>>;

/** `conversation`: where the client knows it, as programs do; agents do not. */
export function scoreMemories(tx: LedgerTx, call: WriteCall): ScoreResult {
  const { params } = call;
  const outcome = readOutcome(params["outcome"] ?? params["exchange_outcome"] ?? "unknown", "outcome");
  const summary = readSummary(params["exchange_summary"]);
  // A memory that was shown twice, under the ids it had before and after a move, is judged once.
  const judged = new Map<string, { drawer: Drawer; outcome: Outcome }>();
  const scores = readScores(params, outcome);
  for (const [id, one] of scores) {
    const drawer = findShown(tx, id);
    if (drawer !== undefined) judged.set(drawer.id, { drawer, outcome: one });
  }
  const isPerson = call.peer.agent === PERSON;
  // A person sets right what stands there, whatever was scored in a conversation.
  const conversation = isPerson
    ? undefined
    : (named(tx, call) ?? owing(tx, call, [...judged.keys()], scores.length > 0));
  const fresh = [...judged.values()].filter(({ drawer }) => conversation?.scored.includes(drawer.id) !== true);
  const told = {
    ...({ atMs: call.atMs, source: isPerson ? "user" : "agent" } as const),
    ...{ conversation: conversation?.id ?? null, exchange: conversation?.exchange ?? null },
  };
  const questionFor = isPerson ? () => undefined : questions(tx, call, conversation);
  const gone: ScoreResult["gone"] = [];
  for (const { drawer, outcome: one } of fresh) {
    if (one === "unknown") continue;
    const score = judge(tx, drawer, { ...told, outcome: one, question: questionFor(drawer.id) });
    if (score !== undefined) gone.push({ id: drawer.id, score });
  }
  const answer = conversation && unscored(tx, conversation);
  if (answer !== undefined && outcome !== "unknown" && !judged.has(answer.id))
    judge(tx, answer, { ...told, outcome, question: questionFor(answer.id) });
  if (summary !== undefined) summarise(tx, call, answer?.id, { text: summary, outcome });
  if (conversation !== undefined) {
    const scored = new Set([...conversation.scored, ...judged.keys(), ...(answer === undefined ? [] : [answer.id])]);
    const isScored = conversation.isScored || conversation.isAsked;
    tx.conversations.put({ ...conversation, isScored, scored: [...scored] });
  }
  const { arrivedAtMs: atMs = call.atMs } = call;
  return { outcome, memories: judged.size, summary: summary?.length ?? 0, gone, atMs };
}

/**
 * What each drawer was shown for: those of the turn that is asked about, and its answer, for what the user said then; another for what
 * the agent itself has searched, which the broker knows.
 */
function questions(
  tx: LedgerTx,
  { findings }: WriteCall,
  conversation: Conversation | undefined,
): (id: string) => Question | undefined {
  const searched = (findings ?? {}) as Searched;
  const answer = conversation && unscored(tx, conversation);
  const question = answer && questionIn(answer);
  const shown = new Set(answer && conversation && tx.conversations.shownAt(conversation.id, conversation.turn - 1));
  if (answer !== undefined) shown.add(answer.id);
  return (one) => {
    if (question !== undefined && shown.has(one)) return question;
    return Object.hasOwn(searched, one) ? searched[one] : undefined;
  };
}

/** What the user asked in an exchange that is kept. */
export function questionIn(exchange: Drawer): Question | undefined {
  return questionOf(keptExchange(exchange).user);
}

/**
 * The conversation that the client names, if it is one. Undefined for a name that is the client's own and no talk's: the memories tell
 * then. Source: outcome-memory.md 4.9.
 */
function named(tx: LedgerTx, { params }: WriteCall): Conversation | undefined {
  const { conversation: id } = params;
  if (typeof id !== "string" || id === NO_TALK || id.startsWith(CLIENT_PREFIX)) return undefined;
  return tx.conversations.find(id);
}

/** The exchange that this turn asks about. What comes after the turn's end is no longer of it. */
function unscored(tx: LedgerTx, { exchange, isAsked, isScored }: Conversation): Drawer | undefined {
  return exchange === null || isScored || !isAsked ? undefined : tx.findDrawer(exchange);
}

/** The exchange is from now on what the agent makes of it; where it is not known, that is a memory of its own. */
function summarise(
  tx: LedgerTx,
  call: WriteCall,
  exchange: string | undefined,
  { text, outcome }: { text: string; outcome: Outcome },
): void {
  // It may have been so bad that it is gone.
  const drawer = exchange === undefined ? undefined : tx.findDrawer(exchange);
  const fields = {
    ...{ memory_type: "exchange_summary", exchange_outcome: outcome, summarized_at: isoTime(call.atMs) },
    original_length: (drawer?.text ?? text).length,
  };
  if (drawer === undefined) storeMemory(tx, call, { collection: "working", text, fields });
  else tx.updateDrawer(drawer.id, { text, metadata: { ...drawer.metadata, ...fields } });
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

/** Returns what the agent had searched for when it found what it scores now. Runs on the broker's main thread. Errors: InvalidValue. */
export function searchedFor(
  { reader, own }: { reader: Pick<LedgerReader, "findDrawer">; own: OwnSearches },
  params: WriteCall["params"],
): Searched {
  const searched = readScores(params, "unknown").flatMap(([shown]): [string, Question][] => {
    const id = findShown(reader, shown)?.id;
    const question = id === undefined ? undefined : own.take(id);
    return id === undefined || question === undefined ? [] : [[id, question]];
  });
  return Object.fromEntries(searched);
}

/** `related`, which older clients send instead: each has the outcome of the exchange. */
export function readScores(params: WriteCall["params"], common: Outcome): [id: string, outcome: Outcome][] {
  const given = params["memory_scores"] ?? {};
  if (!isRecord(given)) throw new InvalidValue("memory_scores must be an object: a memory's id, and its outcome");
  const { related } = params;
  const isRelated = Array.isArray(related) && Object.keys(given).length === 0;
  const scores = isRelated ? related.map((id): [string, unknown] => [asText(id), common]) : Object.entries(given);
  if (scores.length > SCORED_MAX) throw new InvalidValue(`memory_scores holds more than ${SCORED_MAX} ids`);
  return scores.map(([id, outcome]) => [id, readOutcome(outcome, `memory_scores["${id}"]`)]);
}

function readSummary(given: unknown): string | undefined {
  const isNone = given === undefined || given === null || (typeof given === "string" && given.trim() === "");
  return isNone ? undefined : validContent(given, "exchange_summary");
}

export function readOutcome(given: unknown, name: string): Outcome {
  if (isOutcome(given)) return given;
  throw new InvalidValue(`${cut(name)} must be one of ${OUTCOMES.join(", ")}`);
}
