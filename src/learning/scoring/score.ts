/** Implements `score_memories` (outcome-memory.md 2.6, 4.9, 5.6). Any drawer can get a score, but a score moves only memories. */
import type { Drawer, Metadata } from "../../memory/port/drawer.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryReader, MemoryTx } from "../../memory/port/memory.ts";
import type { Conversation, Outcome, Question } from "../../memory/port/outcome.ts";
import { cut } from "../../base/shorten.ts";
import { isRecord } from "../../base/parse-json.ts";
import { PERSON } from "../../protocol/agent-name.ts";
import type { ScoreResult } from "../../protocol/outcome.ts";
import { asText, InvalidValue, validContent } from "../../memory/text/validate.ts";
import { keptExchange } from "../turn/exchange.ts";
import { judge } from "./record-outcome.ts";
import { isOutcome, OUTCOMES } from "../memory/memory.ts";
import { questionOf } from "../question/question.ts";
import type { OwnSearches } from "../search/recent-searches.ts";
import { findShown, firstId, isoTime, storeMemory } from "../memory/as-drawer.ts";

/** Maximum number of memories that one call may score. A turn shows only four. */
const SCORED_MAX = 100;
const FACTS_MAX = 100;
const FACT_MIN = 10;
/** Time that an agent has to answer the request for scores, ms. */
const OWED_MS = 30 * 60_000;
/** Prefix of the name that an MCP client sends as `conversation` if it does not know the conversation's id. */
const CLIENT_PREFIX = "mcp_";
const NO_TALK = "default";

/** Questions of the agent's searches, by the id of the drawer that the search found. The main thread collects them before the write. */
export type Searched = Readonly<Record<string, Question>>;

export function scoreMemories(tx: MemoryTx, call: WriteCall): ScoreResult {
  const { params } = call;
  const outcome = readOutcome(params["outcome"] ?? params["exchange_outcome"] ?? "unknown", "outcome");
  const summary = readSummary(params["exchange_summary"]);
  const facts = readFacts(params["facts"]);
  // Counts a memory only once if it was shown under two ids, one before and one after a move.
  const judged = new Map<string, { drawer: Drawer; outcome: Outcome }>();
  const scores = readScores(params, outcome);
  for (const [id, one] of scores) {
    const drawer = findShown(tx, id);
    if (drawer !== undefined) judged.set(drawer.id, { drawer, outcome: one });
  }
  const isPerson = call.peer.agent === PERSON || call.peer.door === "ui";
  // A person's score belongs to no conversation: it always counts.
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
  const asked = conversation && askedAbout(tx, conversation);
  if (summary !== undefined) summarise(tx, call, asked, { text: summary, outcome, isFirst: answer !== undefined });
  for (const text of facts) storeOnce(tx, call, text, { memory_type: "fact", timestamp: isoTime(call.atMs) });
  const said = [
    ...judged.values(),
    ...(asked === undefined || judged.has(asked.id) ? [] : [{ drawer: asked, outcome }]),
  ];
  const settled = conversation === undefined ? [] : said.filter((one) => contradicts(tx, conversation, one));
  if (conversation !== undefined) {
    const scored = new Set([...conversation.scored, ...judged.keys(), ...(answer === undefined ? [] : [answer.id])]);
    const isScored = conversation.isScored || conversation.isAsked;
    tx.conversations.put({ ...conversation, isScored, scored: [...scored] });
  }
  const kept = settled.map(({ drawer }) => drawer.id);
  const memories = [...judged.keys()].filter((id) => !kept.includes(id)).length;
  const { arrivedAtMs: atMs = call.atMs } = call;
  return { outcome, memories, summary: summary?.length ?? 0, facts: facts.length, settled: kept, gone, atMs };
}

/** Returns a function that finds a drawer's question: the scored turn's message if that turn showed the drawer, else the agent's query. */
function questions(
  tx: MemoryTx,
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

export function questionIn(exchange: Drawer): Question | undefined {
  return questionOf(keptExchange(exchange).user);
}

/** Finds the conversation that the client names; undefined if the client sent only its own name (outcome-memory.md 4.9). */
function named(tx: MemoryTx, { params }: WriteCall): Conversation | undefined {
  return isTalk(params) ? tx.conversations.find(String(params["conversation"])) : undefined;
}

function isTalk({ conversation: id }: WriteCall["params"]): boolean {
  return typeof id === "string" && id !== NO_TALK && !id.startsWith(CLIENT_PREFIX);
}

/** Returns the exchange that still needs a score; undefined if it is scored already or the turn has ended. */
function unscored(tx: MemoryTx, { exchange, isAsked, isScored }: Conversation): Drawer | undefined {
  return exchange === null || isScored || !isAsked ? undefined : tx.findDrawer(exchange);
}

/** Returns the exchange that this turn was asked to score, even if it is scored already. */
function askedAbout(tx: MemoryTx, { exchange, isAsked }: Conversation): Drawer | undefined {
  return exchange === null || !isAsked ? undefined : tx.findDrawer(exchange);
}

/** Returns true if an earlier call of this turn gave the memory another outcome. The caller then keeps the earlier outcome. */
function contradicts(
  tx: MemoryTx,
  { scored, atMs }: Conversation,
  { drawer: { id, room }, outcome }: { drawer: Drawer; outcome: Outcome },
): boolean {
  // A chunk of a book has no outcome.
  if (!scored.includes(id) || outcome === "unknown" || room === "books") return false;
  const last = tx.standings.find(id)?.past.at(-1);
  return last === undefined || last.atMs < atMs || last.outcome !== outcome;
}

/** Replaces the exchange's text by the agent's summary. If the exchange is unknown, the summary becomes a memory. */
function summarise(
  tx: MemoryTx,
  call: WriteCall,
  drawer: Drawer | undefined,
  { text, outcome, isFirst }: { text: string; outcome: Outcome; isFirst: boolean },
): void {
  const fields = {
    ...{ memory_type: "exchange_summary", summarized_at: isoTime(call.atMs) },
    exchange_outcome: isFirst ? outcome : (drawer?.metadata["exchange_outcome"] ?? outcome),
    original_length: Number(drawer?.metadata["original_length"] ?? (drawer?.text ?? text).length),
  };
  if (drawer === undefined) storeOnce(tx, call, text, fields);
  else tx.updateDrawer(drawer.id, { text, metadata: { ...drawer.metadata, ...fields } });
}

/** Stores a text and returns its id. The id is derived from the text, so a repeated call stores nothing new. */
export function storeOnce(tx: MemoryTx, call: WriteCall, text: string, fields: Metadata): string {
  const key = tx.seed(`${String(fields["memory_type"])} ${text}`);
  const known = findShown(tx, firstId("working", key));
  if (known?.text === text) return known.id;
  return storeMemory(tx, { ...call, key }, { collection: "working", text, fields });
}

/**
 * Guesses the conversation of a call without a conversation id: the conversation that showed most of the scored memories, else the agent's
 * only conversation that still needs a score. Returns undefined if no conversation or several fit.
 */
function owing(
  tx: MemoryTx,
  { peer, atMs, params }: WriteCall,
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
  // If all scored memories have been deleted, the conversation cannot be found.
  if (hasIds && judged.length === 0) return undefined;
  const owing = own.filter(({ isScored }) => !isScored);
  // A call without ids may repeat the last call. So if no score is owed, scored conversations are considered too.
  return only(owing.length > 0 || hasIds || isTalk(params) ? owing : own);
}

function only<T>(list: readonly T[]): T | undefined {
  return list.length === 1 ? list[0] : undefined;
}

/** Returns the questions of the searches with which the agent found the scored memories. Runs on the main thread. Errors: InvalidValue. */
export function searchedFor(
  { reader, own }: { reader: Pick<MemoryReader, "findDrawer">; own: OwnSearches },
  params: WriteCall["params"],
): Searched {
  const searched = readScores(params, "unknown").flatMap(([shown]): [string, Question][] => {
    const id = findShown(reader, shown)?.id;
    const question = id === undefined ? undefined : own.take(id);
    return id === undefined || question === undefined ? [] : [[id, question]];
  });
  return Object.fromEntries(searched);
}

/** Reads the outcome of each memory. Older clients send `related`, a list of ids that all get the exchange's outcome. */
export function readScores(params: WriteCall["params"], common: Outcome): [id: string, outcome: Outcome][] {
  const given = params["memory_scores"] ?? {};
  if (!isRecord(given)) throw new InvalidValue("memory_scores must be an object of memory ids and their outcomes");
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

/** Reads the facts and drops those that are too short to mean anything (outcome-memory.md 4.9). */
function readFacts(given: unknown): string[] {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given) || given.length > FACTS_MAX)
    throw new InvalidValue(`facts must be a list of at most ${FACTS_MAX} texts`);
  const facts = given.map((one, at) => validContent(one, `facts[${at}]`));
  return facts.filter((text) => text.trim().length >= FACT_MIN);
}

export function readOutcome(given: unknown, name: string): Outcome {
  if (isOutcome(given)) return given;
  throw new InvalidValue(`${cut(name)} must be one of ${OUTCOMES.join(", ")}`);
}
