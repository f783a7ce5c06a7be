/**
 * The smallest MCP client over a process's stdin and stdout, enough to call our tools through a real shim, on the host or
 * through `docker exec`. Used by the proof of `up` and by the demo, which must see what an agent sees.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { parseAs, parseRecord } from "../../base/parse-json.ts";
import type { Env } from "../../config/env.ts";
import { PalaceError } from "../../base/errors.ts";

export type ToolResult = Readonly<Record<string, unknown>>;

export type StdioMcp = AsyncDisposable & {
  readonly pid: number;
  /** Sends any other request. Errors: the server's message. */
  request: (method: string, params: unknown) => Promise<unknown>;
  /** Returns the tool's JSON answer. Errors: the server's message; the end of stderr if the process exited. */
  call: (tool: string, args: Record<string, unknown>) => Promise<ToolResult>;
  /** Ends stdin and resolves to the exit code, or null if the process had to be killed. */
  close: () => Promise<number | null>;
};

export type StdioMcpOptions = { env: Env; timeoutMs: number; signal?: AbortSignal };

type Waiting = { resolve: (result: unknown) => void; reject: (error: Error) => void; timer: NodeJS.Timeout };
type Answer = {
  id?: number;
  result?: unknown;
  error?: { message: string; data?: { hint?: string; message?: string } };
};

const STDERR_KEPT_CHARS = 2000;
const CLOSE_TIMEOUT_MS = 10_000;

export async function openStdioMcp(argv: readonly string[], options: StdioMcpOptions): Promise<StdioMcp> {
  const [command = "", ...args] = argv;
  const child = spawn(command, args, { env: options.env, stdio: ["pipe", "pipe", "pipe"] });
  const wire = new Wire(child, options);
  const close = (): Promise<number | null> => wire.close();
  try {
    await wire.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "palace", version: "1" },
    });
    wire.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  } catch (error) {
    await close();
    throw error;
  }
  const call = async (tool: string, values: Record<string, unknown>): Promise<ToolResult> =>
    toolResult(tool, await wire.request("tools/call", { name: tool, arguments: values }));
  const request = (method: string, params: unknown): Promise<unknown> => wire.request(method, params);
  return { pid: child.pid ?? 0, request, call, close, [Symbol.asyncDispose]: async () => void (await close()) };
}

function toolResult(tool: string, result: unknown): ToolResult {
  const { content, isError } = result as { content?: { text?: string }[]; isError?: boolean };
  const text = content?.[0]?.text ?? "{}";
  if (isError === true) throw failure(`${tool}: ${text}`);
  return parseAs(text, isAnswer) ?? fail(`${tool} answered something else than JSON`);
}

/** True for an object. `list_tunnels` answers with a list. */
function isAnswer(value: unknown): value is ToolResult {
  return typeof value === "object" && value !== null;
}

function fail(message: string): never {
  throw failure(message);
}

function failure(message: string, hint = "run `palace doctor`"): PalaceError {
  return new PalaceError("STORE_UNAVAILABLE", message, hint);
}

/** One JSON message per line; answers are matched by id. */
class Wire {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<number | null>;
  #nextId = 1;
  #rest = "";
  #stderr = "";
  #ended: string | undefined;

  constructor(child: ChildProcessByStdio<Writable, Readable, Readable>, { timeoutMs, signal }: StdioMcpOptions) {
    this.#child = child;
    this.#timeoutMs = timeoutMs;
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#receive(text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT_CHARS);
    });
    // A write to a process that has just exited fails; its exit code tells why.
    child.stdin.on("error", () => {});
    this.#exited = new Promise((resolve) => {
      child.once("error", (error) => {
        this.#fail(error.message);
        resolve(null);
      });
      child.once("close", (code) => {
        this.#fail(`the shim ended with code ${code ?? "none"}: ${this.#stderr.trim()}`);
        resolve(code);
      });
    });
    signal?.addEventListener("abort", () => child.kill(), { once: true });
  }

  send(message: unknown): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  request(method: string, params: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(failure(this.#ended));
      const id = this.#nextId++;
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(failure(`${method} was not answered within ${this.#timeoutMs} ms`));
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
      // A program may print other lines.
      const answer = parseRecord(line) as Answer;
      const waiting = answer.id === undefined ? undefined : this.#waiting.get(answer.id);
      if (answer.id === undefined || waiting === undefined) continue;
      this.#waiting.delete(answer.id);
      clearTimeout(waiting.timer);
      if (answer.error === undefined) waiting.resolve(answer.result);
      else waiting.reject(failure(answer.error.data?.message ?? answer.error.message, answer.error.data?.hint));
    }
  }

  #fail(reason: string): void {
    this.#ended = reason;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(failure(reason));
    }
    this.#waiting.clear();
  }
}
