/**
 * The opencode plugin: it adds the wake-up text to a session's system prompt, what memory with outcomes says to the user's messages, and
 * files the session when the agent rests.
 * Built into one file without imports, which opencode loads from its plugins folder in its embedded Bun. No failure in here
 * stops opencode; no turn waits longer than a second.
 */
import { within } from "../../platform/within.ts";
import {
  askTurn,
  askWakeUp,
  debugLog,
  endTurn,
  handOver,
  hookOf,
  readSettings,
  TURN_MAX_MS,
} from "../extension/hook.ts";
import { type Info, type Message, type Part, textOf, Turns } from "./turns.ts";

type Event = {
  type: string;
  properties?: { sessionID?: string; info?: Info & { parentID?: string }; part?: Part };
};

/** The part of opencode 1.18's client that is used here: it asks the server of the same process. */
export type Input = { client?: { session: { get(request: object): Promise<{ data?: { parentID?: string } }> } } };

/** The part of opencode 1.18's hooks that is used here. */
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

const COMPACTING =
  "Say in the summary that the whole of this session is filed in the memory palace, and that mempalace_search finds what the summary leaves out.";
/** opencode answers from its own process, whatever the memory does. */
const LOOK_MAX_MS = 500;
/** Matches the request for a title, which comes through the same hook. */
const TITLE = /\btitle generator\b/i;

/** Every call gets the text that the first one got, so that prompt caches hit. */
type Told = { text: Promise<string>; isFixed: boolean };

// The handlers share one session's state; as separate functions, each would need all of it as parameters.
// oxlint-disable-next-line max-lines-per-function
export default function palace({ client }: Input = {}): Promise<Hooks> {
  const settings = readSettings(process.env);
  const log = debugLog(settings.isDebug);
  const agent = settings.agentName ?? "opencode";
  const hook = hookOf(settings, { ...process.env, MEMPALACE_AGENT_NAME: agent }, agent, log);
  const sessions = new Map<string, Told>();
  /** Sessions that were begun, or looked up, here; `children`: those of subagents. */
  const known = new Set<string>();
  const children = new Set<string>();
  /** Sessions with messages since their last hand-over. */
  const unfiled = new Set<string>();
  /** Sessions whose next request is for a summary. */
  const compacting = new Set<string>();
  const turns = new Turns();
  const asked = new Map<string, Promise<void>>();
  const keeping = new Set<Promise<void>>();

  const told = (id: string, isResumed: boolean): Told => {
    const before = sessions.get(id);
    if (before !== undefined) return before;
    const fresh = { text: askWakeUp(hook, { harness: "opencode", id }, isResumed), isFixed: false };
    sessions.set(id, fresh);
    return fresh;
  };
  const file = (id: string): void => {
    if (unfiled.delete(id)) handOver(hook, { harness: "opencode", id });
  };
  const keep = (id: string): void => {
    const said = turns.end(id);
    if (said === undefined) return;
    const kept = endTurn(hook, { harness: "opencode", id }, said).finally(() => keeping.delete(kept));
    keeping.add(kept);
  };
  /** A subagent that is gone on with after a start of opencode was begun elsewhere. */
  const isChild = async (id: string): Promise<boolean> => {
    if (!known.has(id) && client !== undefined) {
      const found = client.session
        .get({ path: { id } })
        .catch((error: unknown) => void log(`session: ${String(error)}`));
      const { data } = (await within(found, LOOK_MAX_MS)) ?? {};
      if (data !== undefined) known.add(id);
      if (data?.parentID !== undefined) children.add(id);
    }
    return children.has(id);
  };
  const safely = async (what: string, work: () => Promise<void> | void): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log(`${what}: ${String(error)}`);
    }
  };

  return Promise.resolve({
    event: ({ event: { type, properties: { sessionID = "", info, part } = {} } }) =>
      safely(type, () => {
        if (type === "session.created" && info?.id !== undefined) {
          // A subagent gets what it needs from its caller, and is filed with the session that it belongs to.
          known.add(info.id);
          if (info.parentID !== undefined) children.add(info.id);
          else if (settings.wakeUp) told(info.id, false);
        }
        if (type === "message.part.updated" && part !== undefined) turns.answer(part);
        if (type === "message.updated" && info !== undefined) turns.broke(info);
        if (type === "message.removed") turns.removed(sessionID);
        if (type === "session.idle") {
          compacting.delete(sessionID);
          keep(sessionID);
          file(sessionID);
        }
        if (type === "session.deleted") {
          sessions.delete(info?.id ?? sessionID);
          turns.drop(info?.id ?? sessionID);
          asked.delete(info?.id ?? sessionID);
          known.delete(info?.id ?? sessionID);
        }
      }),
    "chat.message": ({ sessionID: id, messageID }, { message, parts = [] } = {}) =>
      safely("chat.message", async () => {
        if (id === undefined || (await isChild(id))) return;
        unfiled.add(id);
        const prompt = textOf(parts);
        const own = message?.id ?? messageID;
        if (settings.outcomes !== "off" && prompt !== "" && own !== undefined) {
          turns.begin(id, own, prompt);
          const asking = askTurn(hook, { harness: "opencode", id }, prompt, turns.lost(id));
          asked.set(
            id,
            asking
              .then((beside) => turns.tell(id, own, beside))
              .catch((error: unknown) => log(`turn: ${String(error)}`)),
          );
        }
        // A request made here has its answer by the time the model is called.
        if (settings.wakeUp) told(id, true);
      }),
    "experimental.chat.system.transform": ({ sessionID: id }, { system }) =>
      safely("system.transform", async () => {
        if (id === undefined || !settings.wakeUp || children.has(id) || TITLE.test(system.join("\n"))) return;
        const kept = told(id, true);
        const text = kept.isFixed ? await kept.text : ((await within(kept.text, TURN_MAX_MS)) ?? "");
        if (!kept.isFixed) sessions.set(id, { text: Promise.resolve(text), isFixed: true });
        if (text !== "") system.push(text);
      }),
    "experimental.chat.messages.transform": (_input, output) =>
      safely("messages.transform", async () => {
        const id = output.messages.findLast(({ info }) => info.role === "user")?.info.sessionID ?? "";
        // What was shown is no part of what was said, and the summary would keep it; nobody scores in there.
        if (compacting.delete(id)) return;
        await within(asked.get(id), TURN_MAX_MS);
        output.messages.splice(0, output.messages.length, ...turns.shown(output.messages));
      }),
    "experimental.session.compacting": ({ sessionID: id }, { context }) =>
      safely("session.compacting", () => {
        if (id === undefined || children.has(id)) return;
        context.push(COMPACTING);
        // The next prompt may be shown again what the summary drops.
        turns.compacted(id);
        compacting.add(id);
        unfiled.add(id);
        file(id);
      }),
    dispose: () =>
      safely("dispose", async () => {
        for (const id of unfiled) file(id);
        await Promise.all(keeping);
      }),
  });
}
