/** Selects the memories of a turn, and builds the agent's text from them (outcome-memory.md 3.8, 4.4, 6.4, 6.5). */
import type { MemoryReader } from "../../memory/port/memory.ts";
import { CONVERSATION_ID_MAX } from "../../protocol/limits.ts";
import type { MemoryFields, OwedScore, TurnFields } from "../../protocol/outcome.ts";
import { newConversation } from "./conversation.ts";
import { type Exchange, keptExchange } from "./exchange.ts";
import type { FindContext } from "../search/find-memories.ts";
import { facts, has, type ListContext } from "../memory/list-memories.ts";
import { injectionText, nameIn, type Shown } from "./injection.ts";
import { effectivenessIn } from "../search/lessons.ts";
import { tagsOf } from "../memory/fact-rules.ts";
import { memoryFields } from "../memory/fields.ts";
import { age } from "../memory/described.ts";
import { profileText } from "./user-profile.ts";
import { bestFour } from "../search/recall.ts";
import { recentExchanges } from "./recent-exchanges.ts";
import { head, MEMORY_CHARACTERS, plainScoringPrompt, scoringPrompt, type ToScore } from "./scoring-prompt.ts";
import { type Memory, toMemory } from "../memory/as-drawer.ts";
import type { Begun } from "./turn.ts";
import { wilson } from "../scoring/wilson.ts";

/** Number of the prompt's characters that the search uses. More do not improve the result. */
const QUERY_MAX = 2_000;
/** Maximum number of characters of each text that the judge model gets: message, answer and reply. */
const SAID_CHARACTERS = 2_000;
const SCORED_MAX = 12;

export type ToldContext = FindContext & {
  reader: FindContext["reader"] & Pick<MemoryReader, "shownIn" | "shownAt" | "conversation">;
};
type TextContext = Pick<FindContext, "reader"> & ListContext;
export type Asked = {
  conversation: string;
  prompt: string;
  /** Memories of other projects are left out. */
  project?: string | undefined;
  /** True if the agent's context no longer contains the memories that were shown before. */
  isFresh: boolean;
  /** True if the agent's context no longer contains the conversation. */
  isCompacted: boolean;
};

export type Told = {
  /** Lines with the memories; a description of the user precedes them when a conversation begins. May be empty. */
  context: string;
  /** Request for scores; empty if there is nothing to score. */
  scoring: string;
  /** Request for scores in the form for models that ignore tags. */
  plainScoring: string;
};
/** Masks the secrets of a whole text. Call it before you cut the text, because no pattern matches half a secret. */
export type Clean = (text: string) => string;

/** Selection for a turn. `drawers` are the ids to show. `bank` has all facts. `recent` are lines about the conversation so far. */
export type ToShow = { drawers: string[]; bank: readonly Memory[]; recent: readonly string[] };

/** Selects permanent facts, and at most four memories that fit the prompt. Omits drawers that this conversation has shown. */
export async function drawersToShow(context: ToldContext, asked: Asked, clean: Clean, nowMs: number): Promise<ToShow> {
  const { conversation, prompt, isFresh, isCompacted } = asked;
  const project = asked.project?.slice(0, CONVERSATION_ID_MAX);
  // Never shows the last turn's memories again, because the request for scores quotes them.
  const { turn = 0, isCompleted = false } = context.reader.conversation(conversation) ?? {};
  const last = isCompleted ? context.reader.shownAt(conversation, turn) : [];
  const seen = isFresh ? new Set(last) : context.reader.shownIn(conversation);
  // The agent already sees the exchanges of this conversation, in its context or in `recent`.
  const isLeftOut = ({ drawerId, metadata }: Memory): boolean =>
    seen.has(drawerId) ||
    metadata["conversation_id"] === conversation ||
    (project !== undefined && typeof metadata["project"] === "string" && metadata["project"] !== project);
  const bank = facts(context);
  const always = bank.filter((fact) => fact.metadata["always_inject"] === true && !isLeftOut(fact));
  const told = new Set(always.map(({ text }) => text.trim()));
  const query = promptOf(prompt);
  const isShownElse = (memory: Memory): boolean => isLeftOut(memory) || told.has(memory.text.trim());
  const memories = [...always, ...(await bestFour(context, { query, isLeftOut: isShownElse, nowMs }))];
  const recent = isCompacted ? recentExchanges(context, conversation, clean, nowMs) : [];
  const { shown } = injectionText(nameOf(bank, clean), shownOf(context, memories, query, clean, nowMs), recent);
  const ids = new Set(shown.map(({ id }) => id));
  return { drawers: memories.filter(({ id }) => ids.has(id)).map(({ drawerId }) => drawerId), bank, recent };
}

function promptOf(prompt: string): string {
  return prompt.trim().slice(0, QUERY_MAX).toWellFormed();
}

/** Builds the texts of a turn from the selection of `drawersToShow`. */
export function told(
  context: TextContext,
  { isCold, shown, asks }: Begun,
  { prompt, bank, recent }: { prompt: string } & Omit<ToShow, "drawers">,
  clean: Clean,
  nowMs: number,
): Told {
  const memories = memoriesOf(context, shown);
  const name = isCold || memories.length + recent.length > 0 ? nameOf(bank, clean) : undefined;
  const parts = [
    isCold ? greeting(context, bank, clean) : "",
    injectionText(name, shownOf(context, memories, promptOf(prompt), clean, nowMs), recent).text,
  ];
  const exchange = asks === null ? undefined : exchangeOf(context, asks.exchange, clean);
  const toScore = asks === null ? [] : scorable(memoriesOf(context, asks.shown), clean);
  const message = clean(prompt.slice(0, QUERY_MAX));
  return {
    context: parts.filter((part) => part !== "").join("\n"),
    scoring: exchange === undefined ? "" : scoringPrompt(exchange, toScore, message),
    plainScoring: exchange === undefined ? "" : plainScoringPrompt(exchange, toScore, message),
  };
}

export function toldFields(
  context: TextContext,
  { shown, asks }: Begun,
  prompt: string,
  clean: Clean,
  nowMs: number,
): TurnFields {
  const exchange = asks === null ? null : (exchangeOf(context, asks.exchange, clean) ?? null);
  const isFact = ({ metadata }: Memory): boolean => metadata["always_inject"] === true;
  const memories = memoriesOf(context, shown);
  const effective = effectivenessIn(context.reader, promptOf(prompt));
  const fields = (list: readonly Memory[]): MemoryFields[] =>
    list.map((memory) => memoryFields(memory, nowMs, effective(memory.collection)));
  return {
    exchange,
    toScore: asks === null || exchange === null ? [] : scorable(memoriesOf(context, asks.shown), clean),
    facts: fields(memories.filter(isFact)),
    memories: fields(memories.filter((memory) => !isFact(memory))),
  };
}

/** Returns the texts that the agent was asked to score in this turn and has not scored, shortened. */
export function owedScore(
  context: TextContext & { reader: Pick<MemoryReader, "conversation" | "shownAt"> },
  { conversation: id, reply }: { conversation: string; reply: string },
  clean: Clean,
): OwedScore {
  const { reader } = context;
  const known = reader.conversation(id) ?? newConversation(id, "", 0);
  const { isAsked, isScored, scored, exchange: last, turn, atMs } = known;
  const isOwed = isAsked && !isScored && scored.length === 0;
  const exchange = isOwed && last !== null ? exchangeOf(context, last, clean) : undefined;
  if (exchange === undefined || last === null) return { exchange: null, reply: "", sinceMs: 0, memories: [] };
  const { user, assistant } = exchange;
  const shown = scorable(memoriesOf(context, reader.shownAt(id, turn - 1)), clean);
  return {
    exchange: { id: last, user: head(user, SAID_CHARACTERS), assistant: head(assistant, SAID_CHARACTERS) },
    reply: head(clean(reply), SAID_CHARACTERS),
    sinceMs: atMs,
    memories: shown.map(({ id: memory, text }) => ({ id: memory, text: head(text, MEMORY_CHARACTERS) })),
  };
}

/** Puts the permanent facts last, because there may be more of them than `SCORED_MAX`. */
function scorable(memories: readonly Memory[], clean: Clean): ToScore[] {
  const isFound = ({ metadata }: Memory): boolean => metadata["always_inject"] !== true;
  const ordered = [...memories.filter(isFound), ...memories.filter((one) => !isFound(one))];
  return ordered.slice(0, SCORED_MAX).map(({ id, text }) => ({ id, text: clean(text) }));
}

function memoriesOf({ reader }: TextContext, drawers: readonly string[]): Memory[] {
  const standings = reader.standings(drawers);
  return drawers.flatMap((id) => {
    const drawer = reader.findDrawer(id);
    return (drawer && toMemory(drawer, standings.get(id))) ?? [];
  });
}

function exchangeOf({ reader }: TextContext, id: string, clean: Clean): Exchange | undefined {
  const drawer = reader.findDrawer(id);
  if (drawer === undefined) return undefined;
  const { user, assistant } = keptExchange(drawer);
  return { user: clean(user), assistant: clean(assistant) };
}

function nameOf(bank: readonly Memory[], clean: Clean): string | undefined {
  const identities = bank.filter(({ metadata }) => tagsOf(metadata).includes("identity"));
  return identities.map(({ text }) => nameIn(clean(text))).find((name) => name !== undefined);
}

function greeting(context: TextContext, bank: readonly Memory[], clean: Clean): string {
  const told = bank.map(({ text, metadata, weight }) => ({ text, tags: tagsOf(metadata), weight }));
  return profileText(told, has(context, "history") || has(context, "patterns"), clean);
}

function shownOf(
  { reader }: TextContext,
  memories: readonly Memory[],
  query: string,
  clean: Clean,
  nowMs: number,
): Shown[] {
  const effective = effectivenessIn(reader, query);
  return memories.map(({ id, collection, text, standing: { uses, successes }, madeMs }) => ({
    ...{ id, collection, text: clean(text) },
    // Omits the collection's rate for a memory without outcomes, because the agent would take it for the memory's own rate.
    effective: uses === 0 ? undefined : effective(collection),
    age: Number.isNaN(madeMs) ? "" : age(madeMs, nowMs),
    proven: uses === 0 ? 0 : wilson(successes, uses),
  }));
}
