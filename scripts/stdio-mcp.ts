/**
 * The smallest MCP client over a process's stdin and stdout: enough to call our tools through a real shim, on the host
 * or behind `docker exec`. Used by up.ts for its proof and by the topology tests; knows nothing of the product's inside.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Env } from "../src/config/env.ts";

export type ToolResult = Readonly<Record<string, unknown>>;

export type StdioMcp = AsyncDisposable & {
  /** The tool's JSON answer. Errors: the server's message; the process's last words if it ended. */
  call: (tool: string, args: Record<string, unknown>) => Promise<ToolResult>;
  /** Ends stdin and resolves to the exit code, null if it had to be killed. */
  close: () => Promise<number | null>;
};

export type StdioMcpOptions = { env: Env; timeoutMs: number; signal?: AbortSignal };

type Waiting = { resolve: (result: unknown) => void; reject: (error: Error) => void; timer: NodeJS.Timeout };
type Answer = { id?: number; result?: unknown; error?: { message: string } };

const STDERR_KEPT_CHARS = 2000;
const CLOSE_TIMEOUT_MS = 10_000;

export async function openStdioMcp(argv: readonly string[], options: StdioMcpOptions): Promise<StdioMcp> {
  const [command = "", ...args] = argv;
  const child = spawn(command, args, { env: options.env, stdio: ["pipe", "pipe", "pipe"] });
  const wire = new Wire(child, argv.join(" "), options);
  const close = (): Promise<number | null> => wire.close();
  try {
    await wire.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "palace-scripts", version: "1" },
    });
    wire.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  } catch (error) {
    await close();
    throw error;
  }
  const call = async (tool: string, values: Record<string, unknown>): Promise<ToolResult> =>
    toolResult(tool, await wire.request("tools/call", { name: tool, arguments: values }));
  return { call, close, [Symbol.asyncDispose]: async () => void (await close()) };
}

function toolResult(tool: string, result: unknown): ToolResult {
  const { content, isError } = result as { content?: { text?: string }[]; isError?: boolean };
  const text = content?.[0]?.text ?? "{}";
  if (isError === true) throw new Error(`${tool}: ${text}`);
  return JSON.parse(text) as ToolResult;
}

/** One line of JSON a message, answers matched by id. */
class Wire {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #name: string;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<number | null>;
  #nextId = 1;
  #rest = "";
  #stderr = "";
  #ended: string | undefined;

  constructor(child: ChildProcessByStdio<Writable, Readable, Readable>, name: string, options: StdioMcpOptions) {
    this.#child = child;
    this.#name = name;
    this.#timeoutMs = options.timeoutMs;
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#receive(text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT_CHARS);
    });
    // A write to a process that just ended: its exit says why.
    child.stdin.on("error", () => {});
    this.#exited = new Promise((resolve) => {
      child.once("error", (error) => {
        this.#fail(error.message);
        resolve(null);
      });
      child.once("close", (code) => {
        this.#fail(`ended with code ${code ?? "none"}: ${this.#stderr.trim()}`);
        resolve(code);
      });
    });
    options.signal?.addEventListener("abort", () => child.kill(), { once: true });
  }

  send(message: unknown): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  request(method: string, params: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(new Error(`${this.#name}: ${this.#ended}`));
      const id = this.#nextId++;
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`${this.#name}: ${method} not answered in ${this.#timeoutMs} ms`));
      }, this.#timeoutMs);
      this.#waiting.set(id, { resolve, reject, timer });
      this.send({ jsonrpc: "2.0", id, method, params });
    });
  }

  async close(): Promise<number | null> {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), CLOSE_TIMEOUT_MS);
    const code = await this.#exited;
    clearTimeout(timer);
    return code;
  }

  #receive(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const answer = JSON.parse(line) as Answer;
      const waiting = answer.id === undefined ? undefined : this.#waiting.get(answer.id);
      if (answer.id === undefined || waiting === undefined) continue;
      this.#waiting.delete(answer.id);
      clearTimeout(waiting.timer);
      if (answer.error === undefined) waiting.resolve(answer.result);
      else waiting.reject(new Error(answer.error.message));
    }
  }

  #fail(reason: string): void {
    this.#ended = reason;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(new Error(`${this.#name}: ${reason}`));
    }
    this.#waiting.clear();
  }
}
