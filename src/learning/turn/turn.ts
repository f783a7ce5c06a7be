/** Records a turn, inside a write (outcome-memory.md 4.4, 4.5). Results contain no text, because the journal stores them. */
import type { Metadata } from "../../memory/port/drawer.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryReader, MemoryTx } from "../../memory/port/memory.ts";
import type { Conversation, Signal } from "../../memory/port/outcome.ts";
import { isRecord } from "../../base/parse-json.ts";
import { badParams } from "../../base/errors.ts";
import { CONVERSATION_ID_MAX, SIGNALS_MAX } from "../../protocol/limits.ts";
import { HOST_SIGNALS, type HostSignal, isHostSignal } from "../../protocol/outcome.ts";
import type { Methods } from "../../protocol/spec.ts";
import { askedMark } from "./repeated-question.ts";
import { isCold, isGoingOn, isOver, KEPT_MS, newConversation, onPrompt, onStop } from "./conversation.ts";
import { exchangeText, half, keptExchange } from "./exchange.ts";
import { judge } from "../scoring/record-outcome.ts";
import { storeOnce } from "../scoring/score.ts";
import { SIGNALS } from "../scoring/signal.ts";
import { CAME, isoTime, storeMemory } from "../memory/as-drawer.ts";

const METADATA_MAX = 20;
const METADATA_CHARACTERS = 1_000;
/** Metadata fields that a program may not set, because they say where a memory is filed, by whom, and how it ranks. */
const FILED: ReadonlySet<string> = new Set(
  "wing room source_file chunk_index added_by created_at parent_drawer_id parent_entry_id id text content always_inject status promotion_history".split(
    " ",
  ),
);

/** Result of a turn's beginning, with ids of drawers. `asks` has the exchange to score and the memories shown for it. */
export type Begun = {
  isCold: boolean;
  shown: readonly string[];
  asks: { exchange: string; shown: readonly string[] } | null;
};

/** Findings for a turn. `mark` is the question's digest. `isFresh` is true if the agent no longer sees the memories shown before. */
export type Beginning = { drawers: readonly string[]; mark: string | undefined; isFresh: boolean };

export function beginTurn(tx: MemoryTx, call: WriteCall): Begun {
  const { atMs } = call;
  const { drawers: shown = [], mark, isFresh = false } = (call.findings ?? {}) as Partial<Beginning>;
  const known = found(tx, call);
  // A conversation without turns gets this call's agent, because an earlier call, perhaps of another agent, may have created it.
  const before = isCold(known) ? { ...known, agent: call.peer.agent } : known;
  const { exchange } = before;
  const now = onPrompt(before, exchange !== null && tx.findDrawer(exchange) !== undefined, atMs);
  const asks =
    now.isAsked && exchange !== null ? { exchange, shown: tx.conversations.shownAt(now.id, before.turn) } : null;
  if (isCold(before)) tx.conversations.dropBefore(atMs - KEPT_MS);
  tx.conversations.put(now);
  if (mark !== undefined && asks !== null && askedBefore(tx, asks.exchange) === mark)
    heed(tx, { signal: "asked-again", conversation: now, answer: null, atMs });
  if (isFresh) tx.conversations.showAnew(now.id, now.turn);
  tx.conversations.show(now.id, now.turn, shown);
  return { isCold: isCold(before), shown, asks };
}

/** Stores the exchange and returns its id; null if question or answer is empty. Errors: PROTOCOL_BAD_PARAMS. */
export function endTurn(tx: MemoryTx, call: WriteCall): { id: string | null; scored: boolean } {
  const { params, peer, atMs, arrivedAtMs = atMs } = call;
  const before = found(tx, call);
  // True if the call waited for a broker while the conversation continued. It then changes no turn.
  const isPast = atMs < arrivedAtMs && atMs < before.atMs;
  const signals = readSignals(params["signals"]);
  const said = { user: textOf(params, "user"), assistant: textOf(params, "assistant") };
  const metadata = readMetadata(params["metadata"]);
  const summary = metadata["memory_type"] === "exchange_summary" ? half(said.assistant) : "";
  // Stores a summary as a memory. Roampal's plugin for opencode sends the summary of an earlier exchange as if it were a turn.
  if (summary !== "")
    return {
      id: storeOnce(tx, call, summary, { ...metadata, timestamp: isoTime(atMs), conversation_id: before.id }),
      scored: before.isScored,
    };
  const kept = exchangeText(said);
  const project = textOf(params, "project").slice(0, CONVERSATION_ID_MAX);
  const fields: Metadata = {
    ...metadata,
    ...{ turn_type: "exchange", timestamp: isoTime(atMs), conversation_id: before.id },
    user_length: kept?.userLength ?? 0,
    ...(project !== "" && { project }),
  };
  const id =
    kept &&
    ((isPast ? undefined : goneOn(tx, before, kept.text)) ??
      storeMemory(tx, call, { collection: "working", text: kept.text, fields }));
  if (isPast) return { id: id ?? null, scored: before.isScored };
  // Counts signals only for a running turn of the same agent: for any other turn we do not know which memories were shown.
  if (isGoingOn(before) && before.agent === peer.agent)
    for (const signal of signals) heed(tx, { signal, conversation: before, answer: id ?? null, atMs });
  // If this call stores no exchange and the agent had already answered, the previous exchange stays current.
  const last = id ?? (before.isCompleted ? (before.exchange ?? undefined) : undefined);
  // True if the broker missed the beginning of the turn, so that it has shown no memories.
  const isMissed = id !== undefined && isOver(before) && asksOther(tx, before, said.user);
  tx.conversations.put({ ...onStop(before, last, atMs), ...(isMissed && { turn: before.turn + 1 }) });
  return { id: id ?? null, scored: before.isScored };
}

/** Returns true if `user` is not the user's message of the last exchange. */
function asksOther(tx: MemoryTx, { exchange }: Conversation, user: string): boolean {
  const last = exchange === null ? undefined : tx.findDrawer(exchange);
  return last === undefined || keptExchange(last).user !== half(user);
}

/** Extends the last exchange if the agent continued without a user's message, as after a subagent's report. Returns the exchange's id. */
function goneOn(tx: MemoryTx, { isCompleted, exchange }: Conversation, text: string): string | undefined {
  const drawer = isCompleted && exchange !== null ? tx.findDrawer(exchange) : undefined;
  if (drawer === undefined || !`${text}\n`.startsWith(`${drawer.text}\n`)) return undefined;
  tx.updateDrawer(drawer.id, { text, metadata: drawer.metadata });
  return drawer.id;
}

type Heeded = { signal: Signal; conversation: Conversation; answer: string | null; atMs: number };

function heed(
  tx: MemoryTx,
  { signal, conversation: { id, turn, isAsked, exchange: last }, answer, atMs }: Heeded,
): void {
  const { outcome, of } = SIGNALS[signal];
  const isOfBefore = of === "before";
  if (isOfBefore && !isAsked) return;
  const exchange = isOfBefore ? last : answer;
  const ids = new Set([
    ...(exchange === null ? [] : [exchange]),
    ...tx.conversations.shownAt(id, isOfBefore ? turn - 1 : turn),
  ]);
  for (const one of ids) {
    const drawer = tx.findDrawer(one);
    // `question` is undefined, because a signal changes only the score.
    const told = { atMs, outcome, source: signal, conversation: id, exchange, question: undefined };
    if (drawer !== undefined) judge(tx, drawer, told);
  }
}

function askedBefore(tx: MemoryTx, exchange: string): string | undefined {
  const drawer = tx.findDrawer(exchange);
  return drawer && askedMark(keptExchange(drawer).user);
}

/** Drops values that cannot be stored, and fields that a program may not set. */
function readMetadata(given: unknown): Metadata {
  if (given !== undefined && !isRecord(given)) throw badParams("metadata must be an object");
  const kept = Object.entries(given ?? {}).filter(([name, value]) => isMetadataName(name) && isMetadataValue(value));
  return Object.fromEntries(kept.slice(0, METADATA_MAX)) as Metadata;
}

function isMetadataName(name: string): boolean {
  return /^[A-Za-z]\w{0,63}$/.test(name) && !FILED.has(name) && name !== CAME;
}

function isMetadataValue(value: unknown): boolean {
  if (typeof value === "string")
    return value.length <= METADATA_CHARACTERS && !value.includes("\0") && value.isWellFormed();
  return typeof value === "boolean" || Number.isFinite(value);
}

/** Reads the signals, each once. Refuses `tests-passed` together with `tests-failed`. */
function readSignals(given: unknown): Set<HostSignal> {
  const list: unknown[] = Array.isArray(given) ? given : [];
  const isRight =
    given === undefined || (Array.isArray(given) && list.length <= SIGNALS_MAX && list.every(isHostSignal));
  const signals = new Set(isRight ? (list as HostSignal[]) : []);
  const isContradictory = signals.has("tests-passed") && signals.has("tests-failed");
  if (isRight && !isContradictory) return signals;
  const rule = isContradictory
    ? "signals must not say both tests-passed and tests-failed"
    : `signals must be a list of ${SIGNALS_MAX} names at most, of ${HOST_SIGNALS.join(", ")}`;
  throw badParams(rule);
}

/** Returns whether a turn was scored; false for an unknown conversation. Scores after the turn's end count, too. */
export function scoredIn(reader: Pick<MemoryReader, "conversation">, id: string): Methods["turn.scored"]["result"] {
  const { isAsked = false, isScored = false, scored = [] } = reader.conversation(id) ?? {};
  return { isAsked, isScored: isScored || scored.length > 0 };
}

function found(tx: MemoryTx, { params, peer, atMs }: WriteCall): Conversation {
  const id = idOf(params, "conversation");
  return tx.conversations.find(id) ?? newConversation(id, peer.agent, atMs);
}

export function idOf(params: Record<string, unknown>, name: string): string {
  const id = params[name];
  if (typeof id === "string" && id !== "" && id.length <= CONVERSATION_ID_MAX) return id;
  const rule = `${name} must be an id of 1 to ${CONVERSATION_ID_MAX} characters`;
  throw badParams(rule);
}

function textOf(params: Record<string, unknown>, name: string): string {
  const value = params[name] ?? "";
  if (typeof value === "string") return value;
  throw badParams(`${name} must be a string`);
}
