/**
 * A turn of a conversation, for memory that learns from outcomes: what the agent is told beside the user's message, and the exchange
 * once it has answered. Used by `palace hook` when MEMPALACE_OUTCOMES is on.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { Client } from "../client/client.ts";
import { isRecord } from "../platform/is-record.ts";
import { CONVERSATION_ID_MAX, SAID_MAX, SIGNALS_MAX } from "../protocol/limits.ts";
import { isHostSignal, type OwedScore } from "../protocol/outcome.ts";
import { IDEMPOTENCY_META, type Methods } from "../protocol/spec.ts";
import type { Judgment } from "./judge/judgment.ts";
import type { Exchange } from "./signal/signals.ts";

export type Turn = Readonly<{
  /** The agent's name, and its own id of the session. */
  conversation: string;
  /** The agent's working folder; empty where it is not known. */
  cwd: string;
}>;

export type Asking = Readonly<{
  prompt: string;
  /** Memories of other projects are left out. */
  isScoped: boolean;
  /** The agent has nothing before its eyes of what it was shown before. */
  isFresh?: boolean;
  /** Nor of what was said. */
  isCompacted: boolean;
  /** How long it waits. */
  withinMs: number;
}>;

/** What is asked of the agent about the exchange before, and what is known; each may be empty. */
export type Beside = Readonly<{ scoring: string; plainScoring: string; context: string }>;

/** Errors: the client's. */
export function askBeside(client: Client, turn: Turn, { prompt, isScoped, ...more }: Asking): Promise<Beside> {
  const project = projectOf(turn);
  // An older broker knows isFresh alone.
  const isFresh = more.isFresh === true || more.isCompacted;
  const params = { conversation: idOf(turn), prompt, ...more, isFresh, ...(isScoped && project !== "" && { project }) };
  return client.call("turn.begin", params);
}

/** Kept once a key, whatever is repeated. Errors: the client's. */
export async function keepExchange(client: Client, turn: Turn, exchange: Exchange, key: string): Promise<void> {
  await client.call("turn.end", endOf(turn, exchange), { key });
}

export function endOf(turn: Turn, { user, assistant, signals }: Exchange): Methods["turn.end"]["params"] {
  const project = projectOf(turn);
  // One character more than is kept: the broker sees that something is missing.
  const said = { user: user.trim().slice(0, SAID_MAX + 1), assistant: assistant.trim().slice(0, SAID_MAX + 1) };
  const more = { ...(project !== "" && { project }), ...(signals.length > 0 && { signals: [...signals] }) };
  return { conversation: idOf(turn), ...said, ...more };
}

/** `reply`: what the user has said in this turn. What the agent was asked in it and has not scored; null where that is nothing, and with a broker that is too old to tell. */
export async function owedScore(client: Client, turn: Turn, reply: string): Promise<OwedScore | null> {
  // Nobody can tell from nothing what the user made of it.
  if (reply.trim() === "") return null;
  const owed = await client
    .call("turn.owed", { conversation: idOf(turn), reply: reply.slice(0, SAID_MAX) })
    .catch(() => undefined);
  return owed === undefined || owed.exchange === null ? null : owed;
}

/** Counted once an exchange, whatever is repeated. Errors: the client's. */
export async function keepJudgment(
  client: Client,
  turn: Turn,
  { exchange, sinceMs }: OwedScore,
  judgment: Judgment,
): Promise<number> {
  const id = exchange?.id ?? "";
  const params = {
    conversation: idOf(turn),
    exchange: id,
    sinceMs,
    ...judgment,
    _meta: { [IDEMPOTENCY_META]: `judge/${id}` },
  };
  return (await client.call("turn.judge", params)).judged;
}

/**
 * What the extension and the plugin send to `palace hook`, as JSON on stdin. Fields of another type are empty, and signals of another
 * version are left out: the exchange is kept all the same.
 */
export function readTurn(text: string): Exchange & Readonly<Record<"prompt" | "cwd", string>> {
  const word = (value: unknown): string => (typeof value === "string" ? value : "");
  try {
    const value: unknown = JSON.parse(text);
    const given = isRecord(value) ? value : {};
    const { prompt, user, assistant, cwd, signals } = given;
    const known = Array.isArray(signals) ? signals.filter(isHostSignal).slice(0, SIGNALS_MAX) : [];
    return { prompt: word(prompt), user: word(user), assistant: word(assistant), cwd: word(cwd), signals: known };
  } catch {
    return { prompt: "", user: "", assistant: "", cwd: "", signals: [] };
  }
}

function idOf({ conversation }: Turn): string {
  if (conversation.length <= CONVERSATION_ID_MAX) return conversation;
  const [agent = ""] = conversation.split("/");
  return `${agent.slice(0, CONVERSATION_ID_MAX / 2)}/${createHash("sha256").update(conversation).digest("hex")}`;
}

/** A project is a folder's name: the same checkout has another path in a container. */
function projectOf({ cwd }: Turn): string {
  return basename(cwd);
}
