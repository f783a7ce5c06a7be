/**
 * Runs an MCP server as a child: starts it when it is needed, ends it when it stalls, restarts it within a budget.
 * Concurrency: calls may overlap; each belongs to the generation of the child that it was sent to and fails with it. Errors
 * are written for the model.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { isRecord } from "../../base/is-record.ts";
import { parseRecord } from "../../base/parse-json.ts";
import type { Env } from "../../config/env.ts";
import type { HarnessSettings } from "../../config/harness.ts";

export type McpTool = { name: string; description?: string; inputSchema: Record<string, unknown> };
export type McpContent = { type: string; text?: string; [more: string]: unknown };
export type McpResult = { content?: McpContent[]; isError?: boolean };

export type McpServerOptions = {
  argv: readonly string[];
  env: Env;
  clientName: string;
  settings: Pick<HarnessSettings, "callTimeoutMs" | "startTimeoutMs" | "respawnsMax" | "respawnBackoffMs">;
  log: (line: string) => void;
};

type Waiting = { resolve: (result: unknown) => void; reject: (error: Error) => void };
type Child = ChildProcessByStdio<Writable, Readable, null>;
type Running = { child: Child; generation: number; waiting: Map<number, Waiting> };

const PROTOCOL_VERSION = "2025-06-18";

export class McpServer {
  readonly #options: McpServerOptions;
  #running: Promise<Running> | undefined;
  #generation = 0;
  /** Consecutive starts without a single answer. */
  #failures = 0;
  #lastId = 0;
  #isClosed = false;
  #live: Child | undefined;

  constructor(options: McpServerOptions) {
    this.#options = options;
  }

  async tools(): Promise<McpTool[]> {
    const result = await this.#request("tools/list", {}, this.#options.settings.startTimeoutMs);
    const tools = (result as { tools?: unknown } | undefined)?.tools;
    return Array.isArray(tools) ? (tools as McpTool[]) : [];
  }

  async call(name: string, args: unknown, signal?: AbortSignal): Promise<McpResult> {
    const params = { name, arguments: args ?? {} };
    return (await this.#request("tools/call", params, this.#options.settings.callTimeoutMs, signal)) as McpResult;
  }

  close(): void {
    this.#isClosed = true;
    this.#live?.stdin.end();
    this.#live?.kill();
  }

  async #request(method: string, params: object, timeoutMs: number, signal?: AbortSignal): Promise<unknown> {
    const starting = (this.#running ??= this.#start());
    const running = await starting.catch((error: unknown) => {
      if (this.#running === starting) {
        this.#running = undefined;
        this.#live?.kill("SIGKILL");
      }
      throw error;
    });
    const result = await this.#ask(running, method, params, { timeoutMs, ...(signal && { signal }) });
    this.#failures = 0;
    return result;
  }

  async #start(): Promise<Running> {
    const { settings, log, argv, env } = this.#options;
    if (this.#isClosed) throw new Error("the session has ended");
    const isRespawn = this.#generation > 0;
    if (this.#failures > settings.respawnsMax || (isRespawn && settings.respawnsMax === 0))
      throw new Error(this.#givenUp());
    if (this.#failures > 0) await sleep(settings.respawnBackoffMs * 2 ** (this.#failures - 1));
    this.#failures += 1;
    this.#generation += 1;
    const [command = "", ...args] = argv;
    log(`generation ${this.#generation} of ${command} starts`);
    const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "ignore"] });
    this.#live = child;
    const running: Running = { child, generation: this.#generation, waiting: new Map() };
    this.#listen(running);
    await this.#ask(
      running,
      "initialize",
      {
        protocolVersion: PROTOCOL_VERSION,
        capabilities: {},
        clientInfo: { name: this.#options.clientName, version: "1" },
      },
      { timeoutMs: settings.startTimeoutMs },
    );
    send(child, { jsonrpc: "2.0", method: "notifications/initialized" });
    return running;
  }

  #givenUp(): string {
    return (
      `The memory server gave no answer in ${this.#generation} starts (${this.#options.argv.join(" ")}); ` +
      "the memory is away until the next session. Work goes on without it; `palace doctor` says what is wrong."
    );
  }

  #listen(running: Running): void {
    const { child, waiting } = running;
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) settle(waiting, line);
    });
    // A write to a process that has just exited fails; its exit is reported elsewhere.
    child.stdin.on("error", () => {});
    child.once("error", (error) => this.#end(running, `the memory server cannot be run: ${error.message}`));
    child.once("close", (code) => this.#end(running, `the memory server ended (${code ?? "killed"})`));
  }

  /** Pending calls of that generation fail with the reason; the next call starts a new child. */
  #end({ child, generation, waiting }: Running, why: string): void {
    if (generation === this.#generation && child === this.#live) {
      this.#running = undefined;
      this.#live = undefined;
    }
    if (waiting.size > 0) this.#options.log(`generation ${generation}: ${why}`);
    for (const { reject } of waiting.values()) reject(new Error(why));
    waiting.clear();
  }

  async #ask(
    running: Running,
    method: string,
    params: object,
    { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<unknown> {
    const { child, waiting } = running;
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const stall = (): void => {
      // A child that does not answer one call may answer none, so the next call gets a new process.
      child.kill("SIGKILL");
      this.#end(running, `${method} was not answered within ${timeoutMs} ms; the memory server is started again`);
    };
    const abort = (): void => {
      send(child, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      reject(new Error("cancelled"));
    };
    const timer = timeoutMs > 0 ? setTimeout(stall, timeoutMs) : undefined;
    waiting.set(id, { resolve, reject });
    signal?.addEventListener("abort", abort, { once: true });
    try {
      if (signal?.aborted === true) throw new Error("cancelled");
      if (child.exitCode !== null) throw new Error("the memory server ended");
      send(child, { jsonrpc: "2.0", id, method, params });
      return await promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(id);
      signal?.removeEventListener("abort", abort);
    }
  }
}

function settle(waiting: ReadonlyMap<number, Waiting>, line: string): void {
  const { id, result, error } = parseRecord(line);
  const asked = waiting.get(Number(id));
  if (error === undefined) asked?.resolve(result);
  else asked?.reject(new Error(String((isRecord(error) && error["message"]) || "the memory server refused")));
}

function send(child: Child, message: object): void {
  child.stdin.write(`${JSON.stringify(message)}\n`);
}
