/** Counters in Prometheus' text format, with one line for each existing method. */
import type { StatusReport } from "../../protocol/spec.ts";

type Counter = { ok: number; failed: number; seconds: number };

export class Metrics {
  readonly #methods = new Map<string, Counter>();

  count(method: string, tookMs: number, ok: boolean): void {
    const counter = this.#methods.get(method) ?? { ok: 0, failed: 0, seconds: 0 };
    counter[ok ? "ok" : "failed"] += 1;
    counter.seconds += tookMs / 1000;
    this.#methods.set(method, counter);
  }

  render({
    drawers,
    closets,
    peers,
    queue,
    search,
    driver,
    graph,
    ledgerSizeBytes,
    startedAtMs,
  }: StatusReport): string {
    const { rss } = process.memoryUsage();
    const gauges: [name: string, help: string, value: number][] = [
      ["palace_drawers", "Drawers in the ledger", drawers],
      ["palace_closets", "Closets in the ledger", closets.count],
      ["palace_closets_lag", "Closets the public palace does not hold yet", closets.lag],
      ["palace_ledger_bytes", "Size of the ledger with its write-ahead log", ledgerSizeBytes],
      ["palace_peers", "Open message streams", peers],
      ["palace_queue_depth", "Writes waiting", queue.depth],
      ["palace_embedding_pending", "Drawers without a vector yet", search.pending],
      ["palace_graph_lag", "Rows of the graph that MemPalace's files do not hold yet", graph.lag],
      ["palace_driver_lag", "Drawers the public palace does not hold yet", driver.lag],
      ["palace_process_resident_bytes", "Resident memory", rss],
      ["palace_start_time_seconds", "Start of this broker, Unix time", startedAtMs / 1000],
    ];
    const lines = gauges.flatMap(([name, help, value]) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} gauge`,
      `${name} ${value}`,
    ]);
    lines.push("# HELP palace_writes_total Writes by outcome", "# TYPE palace_writes_total counter");
    lines.push(
      `palace_writes_total{outcome="acknowledged"} ${queue.acknowledged}`,
      `palace_writes_total{outcome="refused"} ${queue.refused}`,
    );
    lines.push("# HELP palace_requests_total Requests by method and outcome", "# TYPE palace_requests_total counter");
    for (const [method, { ok, failed }] of this.#methods) {
      lines.push(
        `palace_requests_total{method="${method}",outcome="ok"} ${ok}`,
        `palace_requests_total{method="${method}",outcome="failed"} ${failed}`,
      );
    }
    lines.push(
      "# HELP palace_request_seconds_total Time spent answering",
      "# TYPE palace_request_seconds_total counter",
    );
    for (const [method, { seconds }] of this.#methods)
      lines.push(`palace_request_seconds_total{method="${method}"} ${seconds.toFixed(6)}`);
    return `${lines.join("\n")}\n`;
  }
}
