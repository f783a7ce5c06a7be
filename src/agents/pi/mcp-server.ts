/**
 * Runs an MCP server as a child: starts it on demand, ends it if it stalls, and restarts it a limited number of times. Calls may overlap,
 * and fail if their child ends. Errors are written for the model.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { McpChild } from "../../base/mcp-child.ts";
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

export class McpServer {
  readonly #options: McpServerOptions;
  #running: Promise<McpChild> | undefined;
  #generation = 0;
  /** Number of starts since the last answer to a call. */
  #failures = 0;
  #isClosed = false;
  #live: McpChild | undefined;

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
    this.#live?.process.stdin.end();
    this.#live?.process.kill();
  }

  async #request(method: string, params: object, timeoutMs: number, signal?: AbortSignal): Promise<unknown> {
    const starting = (this.#running ??= this.#start());
    const running = await starting.catch((error: unknown) => {
      if (this.#running === starting) {
        this.#running = undefined;
        this.#live?.process.kill("SIGKILL");
      }
      throw error;
    });
    const result = await running.request(method, params, { timeoutMs, signal, onLate: late(running) });
    this.#failures = 0;
    return result;
  }

  async #start(): Promise<McpChild> {
    const { settings, log, argv, env } = this.#options;
    if (this.#isClosed) throw new Error("the session has ended");
    const isRespawn = this.#generation > 0;
    if (this.#failures > settings.respawnsMax || (isRespawn && settings.respawnsMax === 0))
      throw new Error(this.#givenUp());
    if (this.#failures > 0) await sleep(settings.respawnBackoffMs * 2 ** (this.#failures - 1));
    this.#failures += 1;
    this.#generation += 1;
    const generation = this.#generation;
    log(`generation ${generation} of ${argv[0] ?? ""} starts`);
    const child: McpChild = new McpChild(argv, {
      ...{ env, stderr: "ignore" },
      describe: (end) =>
        end instanceof Error
          ? `the memory server cannot be run: ${end.message}`
          : `the memory server ended (${end ?? "killed"})`,
      onEnd: (why, calls) => {
        if (child === this.#live) this.#running = this.#live = undefined;
        if (calls > 0) log(`generation ${generation}: ${why}`);
      },
    });
    this.#live = child;
    await child.introduce(this.#options.clientName, { timeoutMs: settings.startTimeoutMs, onLate: late(child) });
    return child;
  }

  #givenUp(): string {
    return (
      `The memory server gave no answer in ${this.#generation} starts (${this.#options.argv.join(" ")}); ` +
      "the memory is not available until the next session. Work continues without it; `palace doctor` says what is wrong."
    );
  }
}

/** Returns the handler for a call without an answer in time. The handler kills the child, which would not answer other calls either. */
function late(child: McpChild): (error: Error) => void {
  return ({ message }) => {
    child.process.kill("SIGKILL");
    child.end(`${message}; the memory server is started again`);
  };
}
