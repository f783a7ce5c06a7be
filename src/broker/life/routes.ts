/** Plain HTTP answers of every door: health, readiness, metrics, MCP, Roampal's API. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DoorName, Health, StatsReport, StatusReport } from "../../protocol/spec.ts";
import type { Metrics } from "../dispatch/metrics.ts";
import { API_PATHS, type Route } from "../door/door.ts";
import type { Held } from "../door/held.ts";
import { sendJson } from "../door/json-answer.ts";
import type { Engine } from "../engine.ts";

export type RoutesOptions = {
  engine: Engine;
  held: Held;
  metrics: Metrics;
  health: (door: DoorName) => Health;
  status: () => StatusReport;
  roampalSettings: string;
};

export function createRoutes({
  engine,
  held,
  metrics,
  health,
  status,
  ...options
}: RoutesOptions): ReadonlyMap<string, Route> {
  let mcpHttp: Promise<Route> | undefined;
  let outcomeApi: Promise<Route> | undefined;
  return new Map<string, Route>([
    ["/health", (_request, response, peer) => sendJson(response, 200, health(peer.door))],
    [
      "/ready",
      (_request, response, peer) => {
        const { status, error, engine } = health(peer.door);
        const ready = status === "ready";
        sendJson(response, ready ? 200 : 503, { ready, engine, status, ...(error !== undefined && { error }) });
      },
    ],
    [
      "/metrics",
      async (_request, response, peer) => {
        // The outcomes are in the ledger. If the palace is not open, the metrics omit them, so that Prometheus does not wait.
        const asked = { jsonrpc: "2.0", id: 1, method: "palace.stats", params: {} };
        const isReady = engine.report().kind === "builtin" && engine.health().status === "ready";
        const answer = isReady ? await engine.dispatch(peer, asked, 0) : undefined;
        const stats = answer !== undefined && "result" in answer ? (answer.result as StatsReport) : undefined;
        const text = metrics.render(status(), stats);
        response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text);
      },
    ],
    [
      "/mcp",
      async (request: IncomingMessage, response: ServerResponse, peer) => {
        // Loads the SDK only at the first request to this path, because our own clients do not need the SDK.
        mcpHttp ??= import("../door/mcp-http.ts").then(({ createMcpHttp }) =>
          createMcpHttp(engine.dispatch, held, () => engine.identity?.()),
        );
        const answer = await mcpHttp;
        await answer(request, response, peer);
      },
    ],
    [
      `${API_PATHS}*`,
      async (request, response, peer) => {
        outcomeApi ??= import("../outcome-api/api.ts").then(({ createOutcomeApi }) =>
          createOutcomeApi({ dispatch: engine.dispatch, held, health: ({ door }) => health(door), status, ...options }),
        );
        const answer = await outcomeApi;
        await answer(request, response, peer);
      },
    ],
  ]);
}
