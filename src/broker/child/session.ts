/** Speaks MCP with one child, as its client: request ids, time-outs, the handshake. A session ends with the child's process. */
import { isRecord } from "../../base/parse-json.ts";
import type { LogFields } from "../../base/log.ts";
import { VERSION } from "../../base/version.ts";
import { PalaceError } from "../../base/errors.ts";
import { ENGINE_START_TIMEOUT_MS, FRAME_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { RPC, type RpcError } from "../../protocol/spec.ts";
import { MCP_VERSIONS } from "../../protocol/version.ts";
import { RpcFailure } from "../../protocol/rpc-error.ts";
import { type ProcessOptions, ServerProcess } from "./process.ts";
import type { ToolNote } from "./tools.ts";

/** The child's description of itself. */
export type Introduction = {
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  serverInfo: Record<string, unknown>;
  instructions: string | undefined;
  tools: readonly ToolNote[];
};

export type Notification = { method: string; params: Record<string, unknown> | undefined };

export type SessionOptions = Pick<ProcessOptions, "config" | "lock" | "generation" | "log"> & {
  /** Called for each notification except progress, which goes to the `onProgress` of the request. */
  onNotification: (notification: Notification) => void;
  onGone: (why: string) => void;
};

export type RequestOptions = { timeoutMs: number; onProgress?: (params: Record<string, unknown>) => void };

type Pending = {
  method: string;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
  onProgress: RequestOptions["onProgress"];
};

const TOOL_PAGES_MAX = 100;
const OWN_METHODS = ["initialize", "ping", "tools/list"];

/** Id of the last request. All sessions share this counter, so no answer can match a request of another session. */
let lastId = 0;

export class Session {
  readonly generation: number;
  readonly process: ServerProcess;
  readonly #options: SessionOptions;
  readonly #pending = new Map<number, Pending>();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.generation = options.generation;
    const { config, lock, generation, log } = options;
    this.process = new ServerProcess({
      ...{ config, lock, generation, log },
      onMessage: (message) => this.#onMessage(message),
      onOversize: () => this.#rejectAll(TOO_LARGE()),
      onGone: (why) => {
        this.#rejectAll(lost(why));
        options.onGone(why);
      },
    });
  }

  /** Sends one request. Errors: the child's own as RpcFailure; ENGINE_TIMEOUT, ENGINE_CALL_LOST, TRANSPORT_FRAME_TOO_LARGE. */
  request(method: string, params: object | undefined, { timeoutMs, onProgress }: RequestOptions): Promise<unknown> {
    const id = ++lastId;
    if (this.process.isGone) return Promise.reject(lost("is gone"));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const expire = (): void => {
      this.#pending.delete(id);
      reject(
        new PalaceError(
          "ENGINE_TIMEOUT",
          `the engine gave no answer to ${method} within ${timeoutMs / 1000} s; whether the call was done is not known`,
          "check whether the call was done before you repeat it; for slow calls: palace config set engine-timeout-seconds SECONDS",
        ),
      );
    };
    this.#pending.set(id, { method, resolve, reject, timer: setTimeout(expire, timeoutMs), onProgress });
    const sent = onProgress === undefined ? params : withToken(params, id);
    this.process.send({ jsonrpc: "2.0", id, method, ...(sent !== undefined && { params: sent }) });
    return promise;
  }

  /** Cancels the open calls. A child need not answer a cancelled call, so a ping sent after it shows when the child is free again. */
  cancel(): void {
    for (const [id, pending] of [...this.#pending]) {
      if (OWN_METHODS.includes(pending.method)) continue;
      this.process.send({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id, reason: "the client left" },
      });
      const free = (): void => {
        if (this.#settle(id)) pending.reject(new PalaceError("BROKER_CANCELLED", "the call was cancelled", ""));
      };
      void this.request("ping", undefined, { timeoutMs: this.#options.config.requestTimeoutMs }).then(free, free);
    }
  }

  /** Makes the handshake and lists the tools. Errors: as `request`. */
  async introduce(): Promise<Introduction> {
    const limits = { timeoutMs: ENGINE_START_TIMEOUT_MS };
    const answer = await this.request(
      "initialize",
      {
        protocolVersion: MCP_VERSIONS[0],
        capabilities: {},
        clientInfo: { name: "palace-devbox", version: VERSION },
      },
      limits,
    );
    const { protocolVersion, capabilities, serverInfo, instructions } = isRecord(answer) ? answer : {};
    this.process.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const has = isRecord(capabilities) ? capabilities : {};
    return {
      protocolVersion: typeof protocolVersion === "string" ? protocolVersion : MCP_VERSIONS[0],
      capabilities: has,
      serverInfo: isRecord(serverInfo) ? serverInfo : {},
      instructions: typeof instructions === "string" ? instructions : undefined,
      tools: has["tools"] === undefined ? [] : await this.listTools(),
    };
  }

  async listTools(): Promise<ToolNote[]> {
    const tools: ToolNote[] = [];
    let cursor: unknown;
    for (let page = 0; page < TOOL_PAGES_MAX; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await this.request("tools/list", params, { timeoutMs: ENGINE_START_TIMEOUT_MS });
      if (!isRecord(answer) || !Array.isArray(answer["tools"])) break;
      tools.push(...answer["tools"].filter(isToolNote));
      cursor = answer["nextCursor"];
      if (cursor === undefined || cursor === null) break;
    }
    return tools;
  }

  #onMessage(message: unknown): void {
    if (!isRecord(message)) return;
    const { id, method } = message;
    if (typeof method === "string") {
      const params = isRecord(message["params"]) ? message["params"] : undefined;
      if (id !== undefined) this.#answer(id, method);
      else if (method === "notifications/progress") this.#onProgress(params ?? {});
      else this.#options.onNotification({ method, params });
      return;
    }
    const pending = typeof id === "number" ? this.#settle(id) : undefined;
    if (pending === undefined) {
      const fields: LogFields = { generation: this.generation, id: String(id) };
      this.#options.log.info("the engine answered an unknown request", fields);
      return;
    }
    if (isRecord(message["error"])) pending.reject(new RpcFailure(asRpcError(message["error"])));
    else pending.resolve(message["result"] ?? {});
  }

  /** Answers the child's own requests: a ping with success, all others with an error. */
  #answer(id: unknown, method: string): void {
    if (method === "ping") this.process.send({ jsonrpc: "2.0", id, result: {} });
    else
      this.process.send({
        jsonrpc: "2.0",
        id,
        error: { code: RPC.METHOD_NOT_FOUND, message: `Unknown method: ${method}` },
      });
  }

  /** Forwards progress and restarts the time-out: a child that reports progress is not stuck. */
  #onProgress(params: Record<string, unknown>): void {
    const { progressToken } = params;
    const pending = typeof progressToken === "number" ? this.#pending.get(progressToken) : undefined;
    if (pending?.onProgress === undefined) return;
    pending.timer.refresh();
    pending.onProgress(params);
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    return pending;
  }

  #rejectAll(error: Error): void {
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(error);
  }
}

const TOO_LARGE = (): PalaceError =>
  new PalaceError(
    "TRANSPORT_FRAME_TOO_LARGE",
    `the engine's answer is larger than ${FRAME_SIZE_MAX_BYTES} bytes`,
    "ask for less at once",
  );

function lost(why: string): PalaceError {
  return new PalaceError(
    "ENGINE_CALL_LOST",
    `the engine's process ${why} during the call; whether it was done is not known`,
    "check whether the call was done before you repeat it; run `palace logs`",
  );
}

function withToken(params: object | undefined, id: number): object {
  const given = isRecord(params) ? params["_meta"] : undefined;
  return { ...params, _meta: { ...(isRecord(given) ? given : {}), progressToken: id } };
}

function asRpcError({ code, message, data }: Record<string, unknown>): RpcError {
  return {
    code: typeof code === "number" ? code : RPC.SERVER_ERROR,
    message: typeof message === "string" ? message : "the engine refused",
    ...(data !== undefined && { data }),
  };
}

function isToolNote(tool: unknown): tool is ToolNote {
  return isRecord(tool) && typeof tool["name"] === "string";
}
