/** Sends a conversation's turns to memory that learns from outcomes, and fetches the texts to show with the user's message. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { Client } from "../wire/client/client.ts";
import { parseRecord } from "../base/parse-json.ts";
import { CONVERSATION_ID_MAX, SAID_MAX, SIGNALS_MAX } from "../protocol/limits.ts";
import { isHostSignal, type OwedScore } from "../protocol/outcome.ts";
import { IDEMPOTENCY_META } from "../protocol/headers.ts";
import { type Methods } from "../protocol/spec.ts";
import type { Judgment } from "./judge/judgment.ts";
import type { Exchange } from "./signal/signals.ts";

export type Turn = Readonly<{
  /** Agent's name, a slash, and the agent's id of the session. */
  conversation: string;
  /** The agent's working folder; empty if unknown. */
  cwd: string;
}>;

export type Asking = Readonly<{
  prompt: string;
  /** True to leave out memories of other projects. */
  isScoped: boolean;
  /** True if the agent's context no longer contains the memories that it was shown. */
  isFresh?: boolean;
  /** True if the agent's context has at most a summary of the conversation. */
  isCompacted: boolean;
  withinMs: number;
}>;

/** Texts for the agent: the question about the last exchange, and the memories. Each may be empty. */
export type Beside = Readonly<{ scoring: string; plainScoring: string; context: string }>;

export function askBeside(client: Client, turn: Turn, { prompt, isScoped, ...more }: Asking): Promise<Beside> {
  const project = projectOf(turn);
  const params = { conversation: idOf(turn), prompt, ...more, ...(isScoped && project !== "" && { project }) };
  return client.call("turn.begin", params);
}

/** Stores an exchange; a repetition with the same key stores nothing more. Errors: the client's errors. */
export async function keepExchange(client: Client, turn: Turn, exchange: Exchange, key: string): Promise<void> {
  await client.call("turn.end", endOf(turn, exchange), { key });
}

export function endOf(turn: Turn, { user, assistant, signals }: Exchange): Methods["turn.end"]["params"] {
  const project = projectOf(turn);
  // One character more than the limit tells the broker that the text was cut.
  const said = { user: user.trim().slice(0, SAID_MAX + 1), assistant: assistant.trim().slice(0, SAID_MAX + 1) };
  const more = { ...(project !== "" && { project }), ...(signals.length > 0 && { signals: [...signals] }) };
  return { conversation: idOf(turn), ...said, ...more };
}

/** Returns the exchange that the agent has not scored; null if none, or from an old broker. `reply`: the user's text in this turn. */
export async function owedScore(client: Client, turn: Turn, reply: string): Promise<OwedScore | null> {
  // Without a reply, a judge cannot know what the user thought of the answer.
  if (reply.trim() === "") return null;
  const owed = await client
    .call("turn.owed", { conversation: idOf(turn), reply: reply.slice(0, SAID_MAX) })
    .catch(() => undefined);
  return owed === undefined || owed.exchange === null ? null : owed;
}

/** Sends a judgment. A repeated judgment of the same exchange has no effect. Errors: the client's errors. */
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

/** Reads an extension's JSON document. Empties wrong fields and drops unknown signals, so that the exchange is stored anyway. */
export function readTurn(text: string): Exchange & Readonly<Record<"prompt" | "cwd", string>> {
  const { prompt, user, assistant, cwd, signals } = parseRecord(text);
  const word = (value: unknown): string => (typeof value === "string" ? value : "");
  const known = Array.isArray(signals) ? signals.filter(isHostSignal).slice(0, SIGNALS_MAX) : [];
  return { prompt: word(prompt), user: word(user), assistant: word(assistant), cwd: word(cwd), signals: known };
}

function idOf({ conversation }: Turn): string {
  if (conversation.length <= CONVERSATION_ID_MAX) return conversation;
  const [agent = ""] = conversation.split("/");
  return `${agent.slice(0, CONVERSATION_ID_MAX / 2)}/${createHash("sha256").update(conversation).digest("hex")}`;
}

/** Returns the name of the project's folder, not its path: the same checkout has another path in a container. */
function projectOf({ cwd }: Turn): string {
  return basename(cwd);
}
