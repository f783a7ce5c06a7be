/**
 * Engine `command` put together: one child, the line before it, the route table before that. What lifecycle.ts asks of an
 * engine, answered for a child as palace.ts answers it for our own.
 */
import type { CommandConfig } from "../../config/engine.ts";
import type { Log } from "../../platform/log.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { ENGINE_DEPTH_MAX } from "../../protocol/limits.ts";
import type { Metrics } from "../dispatch/metrics.ts";
import type { Engine, EngineHost, Identity, PalaceStatus } from "../engine.ts";
import { createChildDispatch } from "./dispatch.ts";
import { Line } from "./line.ts";
import type { Introduction } from "./session.ts";
import { Supervisor } from "./supervisor.ts";
import { ToolBook } from "./tools.ts";

export type ChildEngineOptions = EngineHost & {
  config: CommandConfig;
  home: string;
  log: Log;
  metrics: Metrics;
};

/** A client waits so long for the first child's introduction. */
const INTRODUCTION_MAX_MS = 30_000;
const DRAIN_MAX_MS = 5_000;

export function startChildEngine({ config, home, log, ...rest }: ChildEngineOptions): Engine {
  const tools = new ToolBook();
  /** Who waits for the first introduction. */
  let first = Promise.withResolvers<void>();
  first.promise.catch(() => {});
  const supervisor = new Supervisor({
    ...{ config, home, tools, log },
    onReady: () => {
      first.resolve();
      line.run();
    },
    onFailed: (error) => {
      first.reject(error);
      first = Promise.withResolvers();
      first.promise.catch(() => {});
      line.fail(error);
    },
    onNotification: (notification) => child.broadcast(notification),
  });
  const line = new Line(supervisor, config.requestTimeoutMs);

  const introduced = (): Introduction | Promise<Introduction> => supervisor.introduction ?? firstIntroduction();
  const firstIntroduction = async (): Promise<Introduction> => {
    supervisor.wake();
    if (supervisor.failed !== undefined) throw supervisor.failed;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, INTRODUCTION_MAX_MS)));
    await Promise.race([first.promise, late]).finally(() => clearTimeout(timer));
    if (supervisor.introduction !== undefined) return supervisor.introduction;
    throw new PalaceError("ENGINE_UNAVAILABLE", "the engine is still being started", "repeat the call in a moment", {
      retryAfterMs: 1_000,
    });
  };
  const child = createChildDispatch({
    ...{ line, tools, introduced, log },
    ...rest,
    childPid: () => supervisor.pid,
  });
  supervisor.wake();

  return {
    dispatch: child.dispatch,
    opened: Promise.resolve(),
    leave: child.leave,
    health: () => {
      const { failed, state } = supervisor;
      if (failed !== undefined) return { status: "failed", error: { message: failed.message, ...failed.toWire() } };
      return { status: state === "ready" ? "ready" : "opening" };
    },
    report: () => supervisor.report(),
    failure: () => undefined,
    isBusy: () => false,
    status: () => ({
      ...NOT_OURS,
      // The child takes that lock itself.
      upstreamLock: { state: "none", detail: "the engine's own" },
      queue: {
        depth: line.depth,
        depthMax: ENGINE_DEPTH_MAX,
        acknowledged: line.answeredWrites,
        refused: line.refused,
      },
    }),
    identity: () => identityOf(supervisor.introduction),
    async drain() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise((resolve) => (timer = setTimeout(resolve, DRAIN_MAX_MS)));
      await Promise.race([line.drain(), late]);
      clearTimeout(timer);
      await supervisor.close();
    },
    close: () => supervisor.close(),
    abandon: () => {
      supervisor.abandon();
      return Promise.resolve();
    },
  };
}

function identityOf(introduction: Introduction | undefined): Identity | undefined {
  if (introduction === undefined) return undefined;
  const { serverInfo, instructions } = introduction;
  return {
    serverInfo: { ...serverInfo, name: String(serverInfo["name"] ?? ""), version: String(serverInfo["version"] ?? "") },
    ...(instructions !== undefined && { instructions }),
  };
}

/** We do not look into a palace that is another's. */
const NOT_OURS: Omit<PalaceStatus, "queue"> = {
  drawers: 0,
  wings: 0,
  ledgerSizeBytes: 0,
  search: {
    mode: "lexical",
    vectors: "local",
    model: null,
    modelState: "missing",
    modelDetail: "the engine's own",
    embedded: 0,
    pending: 0,
  },
  driver: { kind: "none", state: "off", lag: 0, lagMs: 0, detail: "the engine's own" },
  graph: { facts: 0, state: "off", lag: 0, takenOver: 0, detail: "the engine's own" },
  strays: {
    ...{ state: "off", detail: "the engine's own" },
    ...{ rows: 0, collections: [], newestAtMs: null, changed: 0, resent: 0, unindexed: 0, taken: 0 },
  },
  closets: { count: 0, pending: 0, lag: 0 },
  adoption: { state: "none", rows: 0, read: 0, taken: 0, atMs: null, detail: "", hint: "" },
};
