/** Host for opencode 2 plugins, made from opencode's published plugin types. Never compared with a running opencode 2. */
import type { Context, SecondEvent, SessionHooks, StoredMessage } from "../../src/agents/opencode/generation-2.ts";

type Callback = (event: never) => Promise<void>;
type Session = { parentID?: string; messages: (StoredMessage & { text?: string })[] };
export type Request = SessionHooks["context"];

/** Message of a request. opencode requires instances of the class, so a plugin must not replace a message by a plain object. */
class ModelMessage {
  readonly id: string;
  readonly role: string;
  readonly content: readonly { type: string; text?: string }[];

  constructor(id: string, role: string, text: string) {
    this.id = id;
    this.role = role;
    this.content = [{ type: "text", text }];
  }
}

export class SecondHost {
  static readonly Message = ModelMessage;
  readonly sessions = new Map<string, Session>();
  readonly #hooks = new Map<string, Callback[]>();
  readonly #listeners = new Set<(event: SecondEvent | undefined) => void>();
  readonly #directory: string;
  #cleanup: (() => Promise<void> | void) | undefined;
  #messages = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Loads the plugin. Throws for any other default export, as opencode 2 does. */
  async load(plugin: unknown): Promise<void> {
    const { id, setup } = plugin as { id?: unknown; setup?: unknown };
    if (typeof id !== "string" || typeof setup !== "function")
      throw new TypeError("Plugin must export a default definition with an id and an effect or setup function.");
    this.#cleanup = (await (setup as (context: Context) => Promise<unknown>)(this.context())) as () => Promise<void>;
  }

  context(): Context {
    const listeners = this.#listeners;
    return {
      app: { version: "2.2.6" },
      location: { directory: this.#directory },
      session: {
        hook: (name, callback) => {
          this.#hooks.set(name, [...(this.#hooks.get(name) ?? []), callback as Callback]);
          return Promise.resolve({ dispose: () => Promise.resolve() });
        },
        get: ({ sessionID }) => {
          const session = this.sessions.get(sessionID);
          if (session === undefined) return Promise.reject(new Error("Session not found"));
          return Promise.resolve({ parentID: session.parentID });
        },
        context: ({ sessionID }) => Promise.resolve([...(this.sessions.get(sessionID)?.messages ?? [])]),
      },
      event: {
        async *subscribe({ signal }) {
          const waiting: (SecondEvent | undefined)[] = [];
          let wake = (): void => {};
          const listen = (event: SecondEvent | undefined): void => {
            waiting.push(event);
            wake();
          };
          listeners.add(listen);
          signal.addEventListener("abort", () => listen(undefined));
          for (;;) {
            if (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
            const event = waiting.shift();
            if (event === undefined) return void listeners.delete(listen);
            yield event;
          }
        },
      },
    };
  }

  create(id: string, parentID?: string): void {
    const parent = parentID === undefined ? {} : { parentID };
    this.sessions.set(id, { ...parent, messages: [] });
    this.emit("session.created", { sessionID: id, ...parent, location: { directory: this.#directory } });
  }

  emit(type: string, data: SecondEvent["data"]): void {
    for (const listen of this.#listeners) listen({ type, ...(data !== undefined && { data }) });
  }

  async #run(name: keyof SessionHooks, event: object): Promise<void> {
    for (const callback of this.#hooks.get(name) ?? []) await callback(event as never);
  }

  store(id: string, message: object): void {
    this.sessions.get(id)?.messages.push({ id: `msg_${(this.#messages += 1)}`, type: "user", ...message });
  }

  /** Sends a user's message. Runs the hooks before it stores the message. */
  async prompt(id: string, text: string): Promise<void> {
    const event = { sessionID: id, messageID: `msg_${this.#messages + 1}`, prompt: { text }, delivery: "queue" };
    await this.#run("prompt", event);
    this.store(id, { type: "user", text });
  }

  /** Returns the request that opencode would send to the model. */
  async request(id: string, kind: "primary" | "compaction" | "title" = "primary"): Promise<Request> {
    const messages = (this.sessions.get(id)?.messages ?? [])
      .filter(({ type }) => type === "user" || type === "shell")
      .map((message) => new ModelMessage(message.id, "user", message.text ?? ""));
    const event: Request = { sessionID: id, kind, system: [{ type: "text", text: "You are an agent." }], messages };
    const name = kind === "compaction" ? "compaction" : "context";
    await this.#run(name, event);
    return event;
  }

  /** Ends the agent's turn with an answer. */
  answer(
    id: string,
    content: StoredMessage["content"],
    end: "succeeded" | "failed" | "interrupted" = "succeeded",
  ): void {
    this.store(id, { type: "assistant", content });
    this.emit(`session.execution.${end}`, { sessionID: id });
  }

  async unload(): Promise<void> {
    await this.#cleanup?.();
  }
}
