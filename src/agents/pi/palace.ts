/**
 * The pi extension: it adds the palace's tools, the wake-up text, the ranked memories and the command /mempalace-diary, and files idle
 * sessions. The build makes one file without imports, which pi loads. No failure here stops pi.
 */
import { basename } from "node:path";
import { within } from "../../base/time-limit.ts";
import { askTurn, askWakeUp, debugLog, endTurn, handOver, hookOf, readSettings, shimOf } from "../extension/hook.ts";
import { signalsOf } from "../signal/signals.ts";
import type { Pi, PiContext, PiEvent, PiMessage } from "./host.ts";
import { McpServer, type McpTool } from "./mcp-server.ts";
import { isServedByPi } from "./native-mcp.ts";
import { stepsIn } from "./tool-calls.ts";

const WAKE_UP = "mempalace-wake-up";
const TURN = "mempalace-turn";

const TURN_STARTS_MAX_MS = 10_000;
/** Maximum length of a diary's topic; a longer topic is cut. */
const TOPIC_MAX_CHARS = 128;

type Due = { text: Promise<string>; isAwaited: boolean };

// The handlers share the state of one session. Separate functions would need the whole state as parameters.
// oxlint-disable-next-line max-lines-per-function
export default function palace(pi: Pi): void {
  const settings = readSettings(process.env);
  const agent = settings.agentName ?? "pi";
  const env = { ...process.env, MEMPALACE_AGENT_NAME: agent };
  const log = debugLog(settings.isDebug);
  const hook = hookOf(settings, env, agent, log);
  const registered = new Set<string>();
  let server: McpServer | undefined;
  let session = "";
  let due: Due | undefined;
  /** True if the session has messages since it was last filed. */
  let isUnfiled = false;
  /** The user's text of the current turn; empty if the setting `outcomes` is off. */
  let prompt = "";
  /** True if a summary may have dropped the conversation and the memories that the agent was shown. */
  let isCompacted = false;
  let started = Promise.withResolvers<void>();

  const on = (event: string, handle: (event: PiEvent, ctx: PiContext) => Promise<PiMessage | void>): void =>
    pi.on(event, async (said, ctx) => {
      try {
        const message = await handle(said, ctx);
        if (message) return { message };
      } catch (error) {
        log(`${event}: ${String(error)}`);
      }
    });
  const owe = (id: string): Due => ({ text: askWakeUp(hook, { harness: "pi", id }, false), isAwaited: false });
  const serve = async (): Promise<void> => {
    server ??= new McpServer({
      ...{ settings, env, log, clientName: agent },
      argv: shimOf(settings),
    });
    registerTools(pi, server, await server.tools(), registered);
  };
  const file = (ctx: PiContext): Promise<void> => {
    const path = ctx.sessionManager.getSessionFile();
    isUnfiled = false;
    if (path !== undefined) handOver(hook, { harness: "pi", id: basename(path, ".jsonl") });
    return Promise.resolve();
  };

  on("session_start", async ({ reason }, ctx) => {
    const id = ctx.sessionManager.getSessionId();
    // Ignores a repeated event: pi 1.5 sends this event twice for a session that it starts itself.
    if (id !== session) {
      session = id;
      due = settings.wakeUp && isFresh(reason, ctx) ? owe(id) : undefined;
    }
    if (isServedByPi(pi, ctx, settings.piDir)) return log("pi connects to the palace itself");
    const serving = serve().catch((error: unknown) => log(`no tools: ${String(error)}`));
    await within(serving, settings.turnMaxMs);
  });
  const wakeUp = async (): Promise<string> => {
    if (due === undefined) return "";
    const text = await within(due.text, due.isAwaited ? 0 : settings.turnMaxMs);
    due.isAwaited = true;
    if (text !== undefined) due = undefined;
    return text ?? "";
  };
  const turn = async ({ prompt: said = "" }: PiEvent, ctx: PiContext): Promise<string> => {
    prompt = settings.outcomes === "off" ? "" : said.trim();
    if (prompt === "") return "";
    // pi stores the texts that we add, so a resumed session still has them.
    const lost = isCompacted ? "said" : "nothing";
    const asked = askTurn(hook, { harness: "pi", id: ctx.sessionManager.getSessionId() }, prompt, lost);
    const { scoring = "", context = "" } = (await within(asked, settings.turnMaxMs)) ?? {};
    const told = [scoring, context].filter((text) => text !== "").join("\n");
    // If the text is empty, for example because the broker answered too late, the agent has not seen the memories again.
    if (told !== "") isCompacted = false;
    return told;
  };
  on("before_agent_start", async (event, ctx) => {
    isUnfiled = true;
    const [told, beside] = await Promise.all([wakeUp(), turn(event, ctx)]);
    const content = [told, beside].filter((text) => text !== "").join("\n\n");
    if (content !== "") return { customType: told === "" ? TURN : WAKE_UP, content, display: false };
  });
  on("agent_end", async ({ messages = [] }, ctx) => {
    const assistant = answerIn(messages);
    const user = prompt;
    prompt = "";
    if (user === "" || assistant === "") return;
    const said = { user, assistant, signals: signalsOf(stepsIn(messages), settings.testCommands) };
    await endTurn(hook, { harness: "pi", id: ctx.sessionManager.getSessionId() }, said);
  });
  on("agent_start", () => Promise.resolve(started.resolve()));
  // Gives the session its wake-up text again, which the summary may have dropped.
  on("session_compact", (_event, ctx) => {
    isCompacted = true;
    if (settings.wakeUp) due = owe(ctx.sessionManager.getSessionId());
    return Promise.resolve();
  });
  for (const event of ["agent_settled", "session_before_compact"]) on(event, (_event, ctx) => file(ctx));
  on("session_shutdown", async (_event, ctx) => {
    server?.close();
    server = undefined;
    session = "";
    if (isUnfiled) await file(ctx);
  });
  pi.registerCommand("mempalace-diary", {
    description: "Have the agent write a diary entry about this session into the palace: /mempalace-diary [topic]",
    handler: async (args, ctx) => {
      started = Promise.withResolvers();
      pi.sendUserMessage(diaryRequest(agent, args), ctx.isIdle?.() === false ? { deliverAs: "followUp" } : undefined);
      // Without a UI, pi exits when this handler returns, so the handler waits until the agent has written the entry.
      if (ctx.hasUI === true) return;
      await within(started.promise, TURN_STARTS_MAX_MS);
      await ctx.waitForIdle?.();
    },
  });
}

/** Returns true if the session starts with an empty context. A resumed or forked session still has the texts from its start. */
function isFresh(reason: string | undefined, { sessionManager }: PiContext): boolean {
  if (reason === "resume" || reason === "fork") return false;
  return !sessionManager.getEntries().some(({ type, customType }) => type === "message" || customType === WAKE_UP);
}

/** Returns the agent's answer; empty if it was interrupted or failed. */
function answerIn(messages: NonNullable<PiEvent["messages"]>): string {
  const answers = messages.filter(({ role }) => role === "assistant");
  if (["aborted", "error"].includes(answers.at(-1)?.stopReason ?? "")) return "";
  const texts = answers.flatMap(({ content }) => (Array.isArray(content) ? (content as unknown[]) : [])).map(textOf);
  return texts.filter((text) => text.trim() !== "").join("\n");
}

function textOf(part: unknown): string {
  const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string" ? text : "";
}

function diaryRequest(agent: string, args: string): string {
  const words = args.trim();
  return (
    `Write a diary entry about this session${words === "" ? "" : ` on: ${words}`}. Say what was done, what was decided and why, ` +
    `and what was learned, in a few sentences. Save it with the tool mempalace_diary_write: agent_name ${JSON.stringify(agent)}, ` +
    `topic ${JSON.stringify(topicOf(words))}. Then say in one line what you saved.`
  );
}

function topicOf(words: string): string {
  const kept = words.match(/[\p{L}\p{N}]+(?:[_.'-][\p{L}\p{N}]+)*/gu)?.join(" ") ?? "";
  const topic = Array.from(kept).slice(0, TOPIC_MAX_CHARS).join("");
  return topic.replace(/[^\p{L}\p{N}]+$/u, "") || "general";
}

/** Registers the tools, except a tool whose name another extension has registered. */
function registerTools(pi: Pi, server: McpServer, tools: readonly McpTool[], registered: Set<string>): void {
  const taken = new Set(pi.getAllTools?.().map(({ name }) => name));
  for (const { name, description = name, inputSchema } of tools) {
    if (taken.has(name) && !registered.has(name)) continue;
    registered.add(name);
    pi.registerTool({
      ...{ name, label: name, description, parameters: inputSchema },
      execute: async (_id, params, signal) => {
        const { content = [], isError } = await server.call(name, params, signal);
        const shown = content.map((one) =>
          one.type === "text" || one.type === "image" ? one : { type: "text", text: JSON.stringify(one) },
        );
        if (isError === true) throw new Error(shown.map(({ text }) => text ?? "").join("\n"));
        return { content: shown, details: {} };
      },
    });
  }
}
