/**
 * A turn of a conversation, for memory that learns from outcomes: what the agent is told beside the user's message, and the exchange
 * once it has answered. Used by `palace hook` when MEMPALACE_OUTCOMES is on.
 */
import { basename } from "node:path";
import type { Client } from "../client/client.ts";
import { isRecord } from "../platform/is-record.ts";

export type Turn = Readonly<{
  /** The agent's name, and its own id of the session. */
  conversation: string;
  /** The agent's working folder; empty where it is not known. */
  cwd: string;
}>;

export type Telling = Readonly<{
  /** Memories of other projects are left out. */
  isScoped: boolean;
  /** For models that make nothing of tags. */
  isPlain: boolean;
}>;

/** Empty when there is nothing to say. Errors: the client's. */
export async function turnText(
  client: Client,
  turn: Turn,
  prompt: string,
  { isScoped, isPlain }: Telling,
): Promise<string> {
  const project = projectOf(turn);
  const params = { conversation: turn.conversation, prompt, ...(isScoped && project !== "" && { project }) };
  const { scoring, plainScoring, context } = await client.call("turn.begin", params);
  return [isPlain ? plainScoring : scoring, context].filter((part) => part !== "").join("\n");
}

/** Errors: the client's. */
export async function keepExchange(
  client: Client,
  turn: Turn,
  said: Readonly<{ user: string; assistant: string }>,
): Promise<void> {
  const project = projectOf(turn);
  await client.call("turn.end", { conversation: turn.conversation, ...said, ...(project !== "" && { project }) });
}

/** What the extension and the plugin send to `palace hook`, as JSON on stdin. Fields of another type are empty. */
export function readTurn(text: string): Readonly<Record<"prompt" | "user" | "assistant" | "cwd", string>> {
  const word = (value: unknown): string => (typeof value === "string" ? value : "");
  try {
    const value: unknown = JSON.parse(text);
    const given = isRecord(value) ? value : {};
    const { prompt, user, assistant, cwd } = given;
    return { prompt: word(prompt), user: word(user), assistant: word(assistant), cwd: word(cwd) };
  } catch {
    return { prompt: "", user: "", assistant: "", cwd: "" };
  }
}

/** A project is a folder's name: the same checkout has another path in a container. */
function projectOf({ cwd }: Turn): string {
  return basename(cwd);
}
