/** Serves opencode 2, a service that calls `setup` once per project. Written from its published types; never tested with a real one. */
import type { Env } from "../../config/env.ts";
import { isRecord } from "../../base/parse-json.ts";
import { within } from "../../base/time-limit.ts";
import { COMPACTING, LOOK_MAX_MS, Memory } from "./memory.ts";
import type { Part } from "./turns.ts";

export type TextPart = { type: "text"; text: string };
export type ModelMessage = { id?: string; role: string; content: readonly { type: string; text?: string }[] };

/** Events of the session hooks. The hooks may change an event before opencode sends it to the model. */
export type SessionHooks = {
  prompt: { sessionID: string; messageID: string; prompt: { text: string } };
  context: { sessionID: string; kind?: string; system: TextPart[]; messages: ModelMessage[] };
  compaction: { sessionID: string; system: TextPart[] };
};

/** A message as `session.context` returns it. */
export type StoredMessage = { id: string; type: string; content?: readonly StoredPart[] };
export type StoredPart = { type: string; id?: string; text?: string; name?: string; state?: unknown };

export type SecondEvent = {
  type: string;
  data?: { sessionID?: string; parentID?: string; location?: { directory?: string } };
};

/** The part of opencode 2's plugin context that we use. */
export type Context = {
  app?: { version?: string };
  location?: { directory?: string };
  session: {
    hook<Name extends keyof SessionHooks>(
      name: Name,
      callback: (event: SessionHooks[Name]) => Promise<void>,
    ): Promise<unknown>;
    get(request: { sessionID: string }): Promise<{ parentID?: string | undefined }>;
    context(request: { sessionID: string }): Promise<readonly StoredMessage[]>;
  };
  event: { subscribe(options: { signal: AbortSignal }): AsyncIterable<SecondEvent> };
};

/** Returns true for the context of opencode 2. opencode 1.18 also calls `setup`, but with a context without session hooks and events. */
export function isSecond(value: unknown): value is Context {
  if (!isRecord(value)) return false;
  const { app, session, event } = value;
  if (isRecord(app) && String(app["version"]).startsWith("1.")) return false;
  return (
    isRecord(session) &&
    typeof session["hook"] === "function" &&
    isRecord(event) &&
    typeof event["subscribe"] === "function"
  );
}

/** Events that end an execution of the agent, each with true if the answer is incomplete. */
const ENDS: ReadonlyMap<string, boolean> = new Map([
  ["session.execution.succeeded", false],
  ["session.execution.failed", true],
  ["session.execution.interrupted", true],
]);

/** Serves opencode 2; returns the cleanup. `isServed`: true if the plugin already serves opencode 1.x in this process. Never throws. */
export async function serveSecond(context: Context, env: Env, isServed: () => boolean): Promise<() => Promise<void>> {
  const served = new Served(context, env);
  const { memory } = served;
  const hook = <Name extends keyof SessionHooks>(
    name: Name,
    work: (event: SessionHooks[Name]) => Promise<void> | void,
  ): Promise<void> =>
    memory.safely(name, async () => {
      await context.session.hook(name, async (event) => {
        if (!isServed()) await memory.safely(name, () => work(event));
      });
    });
  await hook("prompt", (event) => served.prompted(event));
  await hook("context", (event) => served.show(event));
  await hook("compaction", ({ sessionID, system }) => {
    if (memory.isKnownChild(sessionID)) return;
    system.push({ type: "text", text: COMPACTING });
    memory.compacting(sessionID);
  });
  const ending = new AbortController();
  void memory.safely("events", async () => {
    for await (const event of context.event.subscribe({ signal: ending.signal }))
      if (!isServed()) await memory.safely(event.type, () => served.on(event));
  });
  return async () => {
    ending.abort();
    await memory.safely("close", () => served.close());
  };
}

class Served {
  readonly memory: Memory;
  readonly #context: Context;
  /** Id of the message with the last prompt, by session. */
  readonly #prompts = new Map<string, string>();
  /** Turns that have ended and whose answers are still being read, by session. */
  readonly #settling = new Map<string, Promise<void>>();

  constructor(context: Context, env: Env) {
    this.#context = context;
    const find = (sessionID: string) => context.session.get({ sessionID });
    this.memory = new Memory({ env, find, cwd: context.location?.directory });
  }

  async prompted({ sessionID, messageID, prompt }: SessionHooks["prompt"]): Promise<void> {
    await within(this.#settling.get(sessionID), LOOK_MAX_MS);
    const isResumed = this.memory.isNew(sessionID) ? this.#wasUsed(sessionID) : true;
    if (await this.memory.isChild(sessionID)) return;
    this.#prompts.set(sessionID, messageID);
    this.memory.prompted(sessionID, messageID, prompt.text.trim(), await isResumed);
  }

  /** Adds the wake-up text to the system prompt, and the memory's texts before the user's messages. */
  async show({ sessionID, kind = "primary", system, messages }: SessionHooks["context"]): Promise<void> {
    if (kind !== "primary" || this.memory.isKnownChild(sessionID)) return;
    const text = await this.memory.wakeUp(sessionID);
    if (text !== "") system.push({ type: "text", text });
    await this.memory.asked(sessionID);
    for (const [at, message] of messages.entries()) {
      if (message.role !== "user" || message.id === undefined) continue;
      // opencode also sends files, shell output and summaries as messages of the user. We add no texts to those messages.
      const told = this.memory.turns.before(message.id, message.id === this.#prompts.get(sessionID));
      if (told !== "") messages[at] = withText(message, told);
    }
  }

  on({ type, data: { sessionID, parentID, location } = {} }: SecondEvent): void {
    if (sessionID === undefined) return;
    const isBroken = ENDS.get(type);
    if (isBroken !== undefined) this.#settle(sessionID, isBroken);
    // Every project gets all events of the service, so we skip sessions of other folders.
    const isHere = location?.directory !== undefined && location.directory === this.#context.location?.directory;
    if (type === "session.created" && isHere) this.memory.begun(sessionID, parentID);
    if (type === "session.revert.committed") this.memory.turns.removed(sessionID);
    if (type === "session.deleted") {
      this.memory.deleted(sessionID);
      this.#prompts.delete(sessionID);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#settling.values());
    await this.memory.close();
  }

  #settle(id: string, isBroken: boolean): void {
    const settled = this.memory
      .safely("turn", () => this.#readTurn(id, isBroken))
      .then(() => this.memory.rested(id))
      .finally(() => {
        if (this.#settling.get(id) === settled) this.#settling.delete(id);
      });
    this.#settling.set(id, settled);
  }

  /** Passes the answer since the prompt, as opencode has stored it, to `Turns`. */
  async #readTurn(id: string, isBroken: boolean): Promise<void> {
    const { turns } = this.memory;
    const prompt = turns.messageOf(id);
    if (prompt === undefined) return;
    if (isBroken) return turns.broke({ sessionID: id, role: "assistant", error: true });
    const messages = (await within(this.#context.session.context({ sessionID: id }), LOOK_MAX_MS)) ?? [];
    if (turns.messageOf(id) !== prompt) return;
    for (const part of partsSince(messages, prompt)) turns.answer({ ...part, sessionID: id });
  }

  /** Returns true unless opencode reports that the session is empty. */
  async #wasUsed(sessionID: string): Promise<boolean> {
    let messages: readonly StoredMessage[] | undefined;
    await this.memory.safely("context", async () => {
      messages = await within(this.#context.session.context({ sessionID }), LOOK_MAX_MS);
    });
    return messages?.some(({ type }) => type === "user" || type === "assistant" || type === "compaction") ?? true;
  }
}

/** Returns a copy of the message, of the same class, with our text before its first text. */
function withText(message: ModelMessage, told: string): ModelMessage {
  const first = message.content.findIndex(({ type, text = "" }) => type === "text" && text !== "");
  if (first === -1) return message;
  const content = message.content.map((part, at) =>
    at === first ? { ...part, text: `${told}\n\n${part.text}` } : part,
  );
  const copy = Object.create(Object.getPrototypeOf(message) as object) as ModelMessage;
  return Object.assign(copy, message, { content });
}

/** Returns the answer as parts of opencode 1.x: all parts after the prompt, or all parts that remain if a compaction removed the prompt. */
function partsSince(messages: readonly StoredMessage[], prompt: string): Part[] {
  const own = messages.findIndex(({ id }) => id === prompt);
  const start = own === -1 ? messages.findLastIndex(({ type }) => type === "user" || type === "compaction") : own;
  return messages
    .slice(start + 1)
    .filter(({ type }) => type === "assistant")
    .flatMap(({ id, content = [] }) => content.map((part, at) => partOf(part, id, at)));
}

function partOf({ type, text, name, state }: StoredPart, messageID: string, at: number): Part {
  const id = `${messageID}/${at}`;
  if (type !== "tool" || !isRecord(state)) return { id, type, messageID, ...(text !== undefined && { text }) };
  const { status, input, content, structured, metadata } = state;
  const ended = [structured, metadata].find((one) => isRecord(one) && typeof one["exit"] === "number");
  const output = (Array.isArray(content) ? content : [])
    .map((one: unknown) => (isRecord(one) && typeof one["text"] === "string" ? one["text"] : ""))
    .join("\n");
  return {
    ...{ id, type, messageID },
    // opencode 2 names the shell tool "shell", 1.x names it "bash".
    tool: name === "shell" ? "bash" : (name ?? ""),
    state: { status: String(status), input, output, ...(isRecord(ended) && { metadata: ended }) },
  };
}
