/** Assembles engine `command`: a child, the request queue in front of it, and the route table. */
import type { CommandConfig } from "../../config/engine.ts";
import type { Log } from "../../base/log.ts";
import { within } from "../../base/time-limit.ts";
import { PalaceError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { INSTRUCTIONS } from "../../protocol/introduction.ts";
import { ENGINE_DEPTH_MAX } from "../../protocol/limits.ts";
import { SERVER_NAME } from "../../protocol/version.ts";
import type { Metrics } from "../dispatch/metrics.ts";
import type { Health } from "../../protocol/spec.ts";
import { type Dispatch, emptyPalace, type Engine, type EngineHost, type Identity } from "../engine.ts";
import { withSpans } from "../dispatch/traced.ts";
import { ChildDispatch } from "./dispatch.ts";
import { capabilitiesOf, implementationOf } from "./modern.ts";
import { RequestQueue } from "./request-queue.ts";
import type { Introduction } from "./session.ts";
import { Supervisor } from "./supervisor.ts";
import { ToolBook } from "./tools.ts";

export type ChildEngineOptions = EngineHost & {
  config: CommandConfig;
  home: string;
  log: Log;
  metrics: Metrics;
};

/** Maximum time that a client waits until the first child has described itself. */
const INTRODUCTION_MAX_MS = 30_000;
const DRAIN_MAX_MS = 5_000;

export class ChildEngine implements Engine {
  readonly opened = Promise.resolve();
  readonly #supervisor: Supervisor;
  readonly #queue: RequestQueue;
  readonly #child: ChildDispatch;
  /** Resolves when the first child has described itself (name, capabilities and tools). Rejects if the start of a child fails. */
  #first = awaited();

  constructor({ config, home, log, ...rest }: ChildEngineOptions) {
    const tools = new ToolBook();
    this.#supervisor = new Supervisor({
      ...{ config, home, tools, log },
      onReady: () => {
        this.#first.resolve();
        this.#queue.run();
      },
      onFailed: (error) => {
        this.#first.reject(error);
        this.#first = awaited();
        this.#queue.fail(error);
      },
      onNotification: (notification) => this.#child.broadcast(notification),
    });
    this.#queue = new RequestQueue(this.#supervisor, config.requestTimeoutMs);
    this.#child = new ChildDispatch({
      ...{ queue: this.#queue, tools, log },
      ...rest,
      introduced: () => this.#supervisor.introduction ?? this.#firstIntroduction(),
      childPid: () => this.#supervisor.pid,
    });
    this.#supervisor.wake();
  }

  get dispatch(): Dispatch {
    return withSpans(this.#child.dispatch);
  }

  async #firstIntroduction(): Promise<Introduction> {
    this.#supervisor.wake();
    if (this.#supervisor.failed !== undefined) throw this.#supervisor.failed;
    await within(this.#first.promise, INTRODUCTION_MAX_MS);
    if (this.#supervisor.introduction !== undefined) return this.#supervisor.introduction;
    throw new PalaceError("ENGINE_UNAVAILABLE", "the engine is still being started", "repeat the call in a moment", {
      retryAfterMs: 1_000,
    });
  }

  leave(peerId: number): void {
    this.#child.leave(peerId);
  }

  health(): Pick<Health, "status" | "error"> {
    const { failed, state } = this.#supervisor;
    if (failed !== undefined) return { status: "failed", error: { message: failed.message, ...failed.toWire() } };
    return { status: state === "ready" ? "ready" : "opening" };
  }

  report(): ReturnType<Supervisor["report"]> {
    return this.#supervisor.report();
  }

  failure(): undefined {
    return undefined;
  }

  isBusy(): boolean {
    return false;
  }

  status(): ReturnType<Engine["status"]> {
    const { depth, answeredWrites: acknowledged, refused } = this.#queue;
    return {
      ...NOT_OURS,
      // The child takes MemPalace's lock itself.
      upstreamLock: { state: "none", detail: "the engine's own" },
      queue: { depth, depthMax: ENGINE_DEPTH_MAX, acknowledged, refused },
    };
  }

  identity(): Identity {
    return identityOf(this.#supervisor.introduction);
  }

  async drain(): Promise<void> {
    await within(this.#queue.drain(), DRAIN_MAX_MS);
    await this.#supervisor.close();
  }

  close(): Promise<void> {
    return this.#supervisor.close();
  }

  abandon(): Promise<void> {
    this.#supervisor.abandon();
    return Promise.resolve();
  }
}

/** Makes a promise that may reject before anybody awaits it. */
function awaited(): PromiseWithResolvers<void> {
  const waited = Promise.withResolvers<void>();
  waited.promise.catch(() => {});
  return waited;
}

const UNKNOWN_CHILD: Identity = {
  serverInfo: { name: SERVER_NAME, version: VERSION },
  instructions: INSTRUCTIONS,
  capabilities: { tools: {} },
};

function identityOf(introduction: Introduction | undefined): Identity {
  // Until the first child has described itself, the broker announces only the capability `tools`, because every child has tools.
  if (introduction === undefined) return UNKNOWN_CHILD;
  const { instructions } = introduction;
  return {
    serverInfo: implementationOf(introduction),
    ...(instructions !== undefined && { instructions }),
    capabilities: capabilitiesOf(introduction),
  };
}

/** Status of a palace that belongs to the child: the broker does not open it. */
const NOT_OURS = emptyPalace("the engine's own", "missing", "off");
