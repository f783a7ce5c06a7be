import { expect, test } from "vitest";
import { Metrics } from "../../../src/broker/dispatch/metrics.ts";
import type { StatusReport } from "../../../src/protocol/spec.ts";

test("the metrics have a line for each method and outcome, and each method's time in seconds", () => {
  const metrics = new Metrics();
  metrics.count("ping", 250, true);
  metrics.count("ping", 500, true);
  metrics.count("ping", 1_250, false);
  metrics.count("tools/list", 1, true);
  const status = {
    ...{
      drawers: 7,
      closets: { count: 3, lag: 2 },
      peers: 4,
      search: { pending: 5 },
      driver: { lag: 6 },
      graph: { lag: 8 },
    },
    ...{ queue: { depth: 1, acknowledged: 9, refused: 10 }, ledgerSizeBytes: 11, startedAtMs: 12_000 },
  } as StatusReport;
  const lines = metrics.render(status).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      ...[
        'palace_requests_total{method="ping",outcome="ok"} 2',
        'palace_requests_total{method="ping",outcome="failed"} 1',
      ],
      ...[
        'palace_requests_total{method="tools/list",outcome="ok"} 1',
        'palace_request_seconds_total{method="ping"} 2.000000',
      ],
      ...[
        "palace_drawers 7",
        "palace_closets 3",
        "palace_closets_lag 2",
        "palace_peers 4",
        "palace_embedding_pending 5",
      ],
      ...["palace_driver_lag 6", "palace_graph_lag 8", "palace_queue_depth 1", "palace_ledger_bytes 11"],
      ...['palace_writes_total{outcome="acknowledged"} 9', 'palace_writes_total{outcome="refused"} 10'],
      "palace_start_time_seconds 12",
    ]),
  );
});

test("a tool's name with quotes and line ends stays inside its label", () => {
  const metrics = new Metrics();
  metrics.count('a"} 1\nb', 1, true);
  const lines = metrics
    .render({ closets: {}, search: {}, driver: {}, graph: {}, queue: {} } as StatusReport)
    .split("\n");
  expect(lines).toContain('palace_requests_total{method="a\\"} 1\\nb",outcome="ok"} 1');
});
