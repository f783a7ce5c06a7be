/** Talks to one MCP server over stdio, Python's or ours: sends one call at a time, translates ids, and returns errors as answers. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Call } from "./calls.ts";
import { PROJECT } from "./values.ts";

/** Answer to a call: the tool's value, or the JSON-RPC error. */
export type Answer = { value: unknown } | { error: { code: number; message: string; data?: unknown } };

type Message = {
  id?: number;
  result?: { content?: { text: string }[]; tools?: unknown[] };
  error?: { code: number; message: string; data?: unknown };
};

const ANSWER_MAX_MS = 60_000;

export class DifferentialServer {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  /** Ids that the server gave, by `@step@`, newest first. */
  readonly #ids = new Map<string, string>();
  readonly #names = new Map<string, string>();
  /** Matches texts that must be translated. */
  readonly #marks: RegExp;
  #lastId = 0;

  /** `project`: folder that both servers see, written as `@PROJECT@` in the calls. */
  constructor(argv: readonly string[], env: Readonly<Record<string, string | undefined>>, project: string) {
    this.#ids.set(PROJECT, project);
    this.#names.set(project, PROJECT);
    this.#marks = new RegExp(`@[\\dP]|_[0-9a-f]{12}|task_|${project}`);
    const [command = "", ...args] = argv;
    this.#child = spawn(command, args, { env, stdio: ["pipe", "pipe", "ignore"] });
    // Splits at line feeds only, because readline also splits at U+2028, which some answers contain.
    this.#lines = splitLines(this.#child.stdout);
  }

  async open(): Promise<void> {
    await this.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "differential", version: "1" },
    });
    this.#child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  async tools(): Promise<unknown[]> {
    const { result } = await this.request("tools/list", {});
    return result?.tools ?? [];
  }

  /** Sends a call. Translates ids in both directions. */
  async call({ step, tool, args }: Call): Promise<Answer> {
    const sent = this.#translate(args, this.#ids);
    const { result, error } = await this.request("tools/call", { name: `mempalace_${tool}`, arguments: sent });
    if (error !== undefined) return { error };
    const value = JSON.parse(result?.content?.[0]?.text ?? "null") as unknown;
    this.#learn(step, value);
    return { value: this.#translate(value, this.#names) };
  }

  async request(method: unknown, params: unknown): Promise<Message> {
    const id = ++this.#lastId;
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), ANSWER_MAX_MS);
    try {
      for (;;) {
        const { value, done } = await this.#lines.next();
        if (done === true) throw new Error(`the server ended, or was too slow, at ${method} ${JSON.stringify(params)}`);
        const message = JSON.parse(value) as Message;
        if (message.id === id) return message;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(timer);
  }

  #learn(step: number, value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    const { drawer_id, entry_id, triple_id, added, diary, chunks, ...log } = value as Record<string, unknown>;
    const learn = (name: string, id: unknown): void => {
      if (typeof id !== "string") return;
      this.#ids.set(name, id);
      if (!this.#names.has(id)) this.#names.set(id, name);
    };
    if ("reason" in value || chunks !== undefined) learn(`@${step}@`, drawer_id ?? entry_id);
    learn(`@${step}@`, triple_id);
    const { event, task, artifact, self } = log as Record<string, Record<string, unknown> | undefined>;
    learn(`@${step}@`, event?.["id"] ?? task?.["id"] ?? artifact?.["id"]);
    learn(`@${step}.artifact@`, artifact?.["id"]);
    learn(`@${step}.task@`, task?.["correlation_id"]);
    learn("@replica@", (event ?? task)?.["origin_replica"] ?? artifact?.["origin_replica"] ?? self?.["replica_id"]);
    if (Array.isArray(added))
      added.forEach((one: { drawer_id?: unknown }, index) => learn(`@${step}.${index}@`, one.drawer_id));
    if (typeof diary === "object" && diary !== null)
      learn(`@${step}.diary@`, (diary as Record<string, unknown>)["entry_id"]);
  }

  #translate(value: unknown, names: ReadonlyMap<string, string>): unknown {
    if (typeof value === "string") {
      if (!this.#marks.test(value)) return value;
      let text = value;
      for (const [from, to] of names) if (text.includes(from)) text = text.replaceAll(from, to);
      return text;
    }
    if (Array.isArray(value)) return value.map((one) => this.#translate(one, names));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [this.#translate(key, names), this.#translate(one, names)]),
    );
  }
}

async function* splitLines(stream: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line !== "");
  }
}
