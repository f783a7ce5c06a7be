/** Implements the hooks of opencode 1.18. */
import type { Env } from "../../config/env.ts";
import { COMPACTING, Memory } from "./memory.ts";
import { type Info, type Message, type Part, textOf } from "./turns.ts";

type Event = {
  type: string;
  properties?: { sessionID?: string; info?: Info & { parentID?: string }; part?: Part };
};

/** The part of opencode 1.18's client that we use. The client calls the server in the same process. */
export type Input = { client?: { session: { get(request: object): Promise<{ data?: { parentID?: string } }> } } };

export type Hooks = {
  event(input: { event: Event }): Promise<void>;
  "chat.message"(
    input: { sessionID?: string; messageID?: string },
    output?: { message?: Info; parts?: Part[] },
  ): Promise<void>;
  "experimental.chat.messages.transform"(input: unknown, output: { messages: Message[] }): Promise<void>;
  "experimental.chat.system.transform"(input: { sessionID?: string }, output: { system: string[] }): Promise<void>;
  "experimental.session.compacting"(input: { sessionID?: string }, output: { context: string[] }): Promise<void>;
  dispose(): Promise<void>;
};

/** Matches the system prompt of a request for a title. opencode calls the same hook for such a request. */
const TITLE = /\btitle generator\b/i;

export function firstHooks({ client }: Input, env: Env): Hooks {
  const find = client && (async (id: string) => (await client.session.get({ path: { id } })).data);
  const memory = new Memory({ env, find });
  const { turns } = memory;
  /** Sessions whose next request to the model asks for a summary. */
  const compacting = new Set<string>();

  const on = ({ type, properties: { sessionID = "", info, part } = {} }: Event): void => {
    if (type === "session.created" && info?.id !== undefined) memory.begun(info.id, info.parentID);
    if (type === "message.part.updated" && part !== undefined) turns.answer(part);
    if (type === "message.updated" && info !== undefined) turns.broke(info);
    if (type === "message.removed") turns.removed(sessionID);
    if (type === "session.idle") {
      compacting.delete(sessionID);
      memory.rested(sessionID);
    }
    if (type === "session.deleted") memory.deleted(info?.id ?? sessionID);
  };

  return {
    event: ({ event }) => memory.safely(event.type, () => on(event)),
    "chat.message": ({ sessionID: id, messageID }, { message, parts = [] } = {}) =>
      memory.safely("chat.message", async () => {
        if (id === undefined || (await memory.isChild(id))) return;
        memory.prompted(id, message?.id ?? messageID, textOf(parts), true);
      }),
    "experimental.chat.system.transform": ({ sessionID: id }, { system }) =>
      memory.safely("system.transform", async () => {
        if (id === undefined || TITLE.test(system.join("\n"))) return;
        const text = await memory.wakeUp(id);
        if (text !== "") system.push(text);
      }),
    "experimental.chat.messages.transform": (_input, output) =>
      memory.safely("messages.transform", async () => {
        const id = output.messages.findLast(({ info }) => info.role === "user")?.info.sessionID ?? "";
        // The summary must not contain the texts that the memory adds, and a summary cannot answer the question for scores.
        if (compacting.delete(id)) return;
        await memory.asked(id);
        output.messages.splice(0, output.messages.length, ...turns.shown(output.messages));
      }),
    "experimental.session.compacting": ({ sessionID: id }, { context }) =>
      memory.safely("session.compacting", () => {
        if (id === undefined || memory.isKnownChild(id)) return;
        context.push(COMPACTING);
        compacting.add(id);
        memory.compacting(id);
      }),
    dispose: () => memory.safely("dispose", () => memory.close()),
  };
}
