/** Client of an MCP server in a child process. The build also bundles this file into pi's extension. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { isRecord, parseRecord } from "./parse-json.ts";

const PROTOCOL_VERSION = "2025-06-18";

type McpChildOptions = {
  env: Readonly<Record<string, string | undefined>>;
  stderr: "pipe" | "ignore";
  /** Returns a message about the end of the process. `end`: exit code, null if it was killed, or the Error if it did not start. */
  describe: (end: number | null | Error) => string;
  /** Called when the process ends. `calls`: number of open calls, which then fail. */
  onEnd?: (why: string, calls: number) => void;
};

type RequestOptions = {
  /** Time limit, ms; 0 means none. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Called after `timeoutMs` instead of failing the call. */
  onLate?: (error: Error) => void;
};

export class McpRefusal extends Error {
  readonly data: Record<string, unknown>;

  constructor(error: unknown) {
    const { message, data } = isRecord(error) ? error : {};
    super(String(message || "the memory server refused"));
    this.data = isRecord(data) ? data : {};
  }
}

export class McpChild {
  readonly process: ChildProcessByStdio<Writable, Readable, Readable | null>;
  /** Resolves to the exit code; null if the process was killed or never started. */
  readonly exited: Promise<number | null>;
  readonly #onEnd: McpChildOptions["onEnd"];
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #lastId = 0;
  #ended: Error | undefined;

  constructor([command = "", ...args]: readonly string[], { env, stderr, describe, onEnd }: McpChildOptions) {
    const child = spawn(command, args, { env, stdio: ["pipe", "pipe", stderr] });
    this.process = child as typeof this.process;
    this.#onEnd = onEnd;
    let rest = "";
    this.process.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#settle(line);
    });
    // Ignores failed writes to an exited process, because `end` (below) reports the exit.
    this.process.stdin.on("error", () => {});
    const { promise, resolve } = Promise.withResolvers<number | null>();
    this.exited = promise;
    const end = (how: number | null | Error): void => {
      this.end(describe(how));
      resolve(how instanceof Error ? null : how);
    };
    this.process.once("error", end).once("close", end);
  }

  /** Makes MCP's handshake. Errors: as `request`. */
  async introduce(name: string, options: RequestOptions): Promise<void> {
    const clientInfo = { name, version: "1" };
    await this.request("initialize", { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo }, options);
    this.#send({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  /** Sends a request and returns its result. Errors: McpRefusal if the server answers with an error; an Error if no answer comes. */
  async request(method: string, params: unknown, { timeoutMs, signal, onLate }: RequestOptions): Promise<unknown> {
    if (signal?.aborted === true) throw new Error("cancelled");
    if (this.#ended !== undefined) throw this.#ended;
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const late = (): void => (onLate ?? reject)(new Error(`${method} was not answered within ${timeoutMs} ms`));
    const abort = (): void => {
      this.#send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      reject(new Error("cancelled"));
    };
    const timer = timeoutMs > 0 ? setTimeout(late, timeoutMs) : undefined;
    this.#waiting.set(id, { resolve, reject });
    signal?.addEventListener("abort", abort, { once: true });
    try {
      this.#send({ jsonrpc: "2.0", id, method, params });
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
      signal?.removeEventListener("abort", abort);
    }
  }

  end(why: string): void {
    this.#ended ??= new Error(why);
    this.#onEnd?.(why, this.#waiting.size);
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }

  #settle(line: string): void {
    // A server may print other lines, which are ignored.
    const { id, result, error } = parseRecord(line);
    const asked = this.#waiting.get(Number(id));
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new McpRefusal(error));
  }

  #send(message: object): void {
    this.process.stdin.write(`${JSON.stringify(message)}\n`);
  }
}
