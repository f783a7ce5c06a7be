/**
 * Serves a stub model to the real agents, as OpenAI's Chat Completions and Anthropic's Messages. Each line `@@tool NAME {JSON}` of a prompt
 * makes one tool call, where NAME is the end of a declared tool's name. `@@held` makes the call only after a GET of `/go`. A request of
 * pi's /mempalace-diary makes a call too. The model then answers with all results. Runs in a devbox as `node stub-model.ts PORT`, with
 * Node alone.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export type Tool = { name: string; description: string; schema: unknown };
export type StubModel = AsyncDisposable & { port: number };
/** Everything that the model saw, by model name. */
export type Seen = {
  /** Tools of the last request with tools. */
  tools: Record<string, Tool[]>;
  /** Texts of the last request with tools. */
  texts: Record<string, string[]>;
  /** Texts of the last request without tools, which agents make for a title or a summary. */
  asides: Record<string, string[]>;
  /** Duration of each tool call of the last turn. */
  awayMs: Record<string, number[]>;
  /** Models whose `@@held` call waits for `/go`. */
  held: string[];
  /** Requested paths that this server lacks. */
  unknown: string[];
};

/** Turn in either wire format: the user's last message, the later calls, and their results. */
type Turn = { prompt: string; calls: number; results: string[]; tools: Tool[] };
type Wanted = { name: string; args: string; isHeld: boolean };
type Answer = { text: string } | { tool: string; args: string; isHeld: boolean };
type Block = { type?: string; text?: string; content?: unknown };
type Message = { role: string; content: unknown; tool_calls?: unknown[] };
type Body = { model: string; messages: Message[]; tools?: Record<string, unknown>[] };

export const ANSWER = "The tools said:";
/** Matches the request of pi's /mempalace-diary: tool, agent's name, topic. */
const DIARY = /Save it with the tool (\S+): agent_name ("(?:[^"\\]|\\.)*"), topic ("(?:[^"\\]|\\.)*")/;
export const ENTRY = "An entry that the model made up.";
const MODEL = "stub-model";
const REQUESTS_KEPT = 200;
/** Matches a background subagent's result in Claude Code's message. */
const BROUGHT = /<result>([^]*?)<\/result>/g;

export async function startStubModel(port = 0): Promise<StubModel> {
  const seen: Seen = { tools: {}, texts: {}, asides: {}, awayMs: {}, held: [], unknown: [] };
  const requests: string[][] = [];
  const calledAtMs = new Map<string, number>();
  let go = Promise.withResolvers<void>();

  const note = (body: Body, { tools, calls }: Turn): void => {
    const { model } = body;
    seen.tools[model] = tools;
    seen.texts[model] = textsOf(body);
    const away = calls === 0 ? [] : (seen.awayMs[model] ?? []);
    seen.awayMs[model] = calls === 0 ? away : [...away, performance.now() - (calledAtMs.get(model) ?? NaN)];
  };
  const said = async (body: Body, turn: Turn): Promise<Answer> => {
    if (turn.tools.length === 0) {
      seen.asides[body.model] = textsOf(body);
      return { text: "A title" };
    }
    note(body, turn);
    const words = answer(turn);
    if ("tool" in words && words.isHeld) {
      seen.held.push(body.model);
      await go.promise;
    }
    calledAtMs.set(body.model, performance.now());
    return words;
  };
  const server: Server = createServer((request, response) => {
    void readBody(request).then(async (text) => {
      const path = (request.url ?? "").split("?")[0] ?? "";
      if (path === "/seen") return response.end(JSON.stringify(seen));
      if (path === "/requests") {
        const word = decodeURIComponent((request.url ?? "").split("?with=")[1] ?? "");
        return response.end(JSON.stringify(requests.filter((texts) => texts.some((one) => one.includes(word)))));
      }
      if (path === "/go") {
        seen.held = [];
        go.resolve();
        go = Promise.withResolvers();
        return response.end();
      }
      const wire = WIRES.find(({ ends }) => path.endsWith(ends));
      if (wire === undefined || request.method !== "POST") {
        seen.unknown.push(`${request.method} ${path}`);
        return response.writeHead(404, { "content-type": "application/json" }).end(`{"error":{"message":"unknown"}}`);
      }
      const body = JSON.parse(text) as Body;
      requests.push(textsOf(body.messages));
      if (requests.length > REQUESTS_KEPT) requests.shift();
      const words = await said(body, wire.read(body));
      return response.writeHead(200, { "content-type": "text/event-stream" }).end(wire.write(words).join(""));
    });
  });
  await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  return Buffer.concat((await request.toArray()) as Buffer[]).toString("utf8");
}

function answer({ prompt, calls, results, tools }: Turn): Answer {
  const wanted = wantedOf(prompt)[calls];
  if (wanted === undefined) return { text: `${ANSWER}\n${results.join("\n")}` };
  const { name, ...call } = wanted;
  const tool = tools.find((one) => one.name.endsWith(name))?.name;
  return tool === undefined
    ? { text: `no tool ${name} in ${tools.map((one) => one.name).join(" ")}` }
    : { tool, ...call };
}

/** Returns the calls that a user's message asks for, in order. */
function wantedOf(prompt: string): Wanted[] {
  const [, diary, agent, topic] = DIARY.exec(prompt) ?? [];
  if (diary !== undefined) {
    const args = `{"agent_name":${agent},"topic":${topic},"entry":"${ENTRY}"}`;
    return [{ name: diary, args, isHeld: false }];
  }
  const lines = prompt.matchAll(/^@@(tool|held) (\S+) (\{.*\})$/gm);
  return [...lines].map(([, kind, name = "", args = "{}"]) => ({ name, args, isHeld: kind === "held" }));
}

/** Returns every text in a request, at any depth. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return String(content ?? "");
  return (content as Block[])
    .map(({ text, content: inner }) => text ?? (inner === undefined ? "" : textOf(inner)))
    .join("\n");
}

/** Reads the turn that began with the user's last message that asks for a tool call. */
function readTurn(
  messages: Message[],
  tools: Tool[],
  says: (message: Message) => string,
): Omit<Turn, "calls" | "results"> & { since: Message[] } {
  const at = messages.findLastIndex((message) => message.role === "user" && wantedOf(says(message)).length > 0);
  return { prompt: at < 0 ? "" : says(messages[at]!), since: at < 0 ? [] : messages.slice(at + 1), tools };
}

function readChat({ messages, tools = [] }: Body): Turn {
  const declared = tools.map((tool) => {
    const { name, description, parameters } = tool["function"] as {
      name: string;
      description: string;
      parameters: unknown;
    };
    return { name, description, schema: parameters };
  });
  const { since, ...turn } = readTurn(messages, declared, ({ content }) => textOf(content));
  const calls = since.reduce((count, { tool_calls = [] }) => count + tool_calls.length, 0);
  return { ...turn, calls, results: since.filter(({ role }) => role === "tool").map(({ content }) => textOf(content)) };
}

function readMessages({ messages, tools = [] }: Body): Turn {
  const declared = tools.map((tool) => ({
    name: String(tool["name"]),
    description: String(tool["description"]),
    schema: tool["input_schema"],
  }));
  const blocks = ({ content }: Message, type: string): Block[] =>
    Array.isArray(content) ? (content as Block[]).filter((block) => block.type === type) : [];
  const says = (message: Message): string =>
    typeof message.content === "string" ? message.content : textOf(blocks(message, "text"));
  const { since, ...turn } = readTurn(messages, declared, says);
  return {
    ...turn,
    calls: since.flatMap((message) => blocks(message, "tool_use")).length,
    results: since.flatMap((message) => [
      ...blocks(message, "tool_result").map(({ content }) => textOf(content)),
      ...[...says(message).matchAll(BROUGHT)].map(([, result = ""]) => result),
    ]),
  };
}

let ids = 0;

function writeChat(said: Answer): string[] {
  const chunk = (choices: object[], more: object = {}): string =>
    `data: ${JSON.stringify({ id: "stub", object: "chat.completion.chunk", created: 1, model: MODEL, choices, ...more })}\n\n`;
  const delta = (value: object, finish_reason: string | null = null): string =>
    chunk([{ index: 0, delta: value, finish_reason }]);
  const call = (tool: string, args: string): object => ({
    tool_calls: [{ index: 0, id: `call_${++ids}`, type: "function", function: { name: tool, arguments: args } }],
  });
  const isText = "text" in said;
  return [
    delta({ role: "assistant", content: "" }),
    delta(isText ? { content: said.text } : call(said.tool, said.args)),
    delta({}, isText ? "stop" : "tool_calls"),
    chunk([], { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
    "data: [DONE]\n\n",
  ];
}

function writeMessages(said: Answer): string[] {
  const event = (type: string, data: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  const isText = "text" in said;
  const block = isText
    ? { type: "text", text: "" }
    : { type: "tool_use", id: `toolu_${++ids}`, name: said.tool, input: {} };
  const delta = isText
    ? { type: "text_delta", text: said.text }
    : { type: "input_json_delta", partial_json: said.args };
  const message = {
    id: `msg_${++ids}`,
    type: "message",
    role: "assistant",
    model: MODEL,
    content: [],
    stop_reason: null,
  };
  return [
    event("message_start", { message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } }),
    event("content_block_start", { index: 0, content_block: block }),
    event("content_block_delta", { index: 0, delta }),
    event("content_block_stop", { index: 0 }),
    event("message_delta", {
      delta: { stop_reason: isText ? "end_turn" : "tool_use", stop_sequence: null },
      usage: { output_tokens: 1 },
    }),
    event("message_stop", {}),
  ];
}

const WIRES = [
  { ends: "/chat/completions", read: readChat, write: writeChat },
  { ends: "/v1/messages", read: readMessages, write: writeMessages },
];

if (import.meta.main) {
  const { port } = await startStubModel(Number(process.argv[2] ?? 0));
  console.log(`http://127.0.0.1:${port}`);
}
