/** Counters in Prometheus' text format. */
import type { MethodTimes, StatsReport, StatusReport } from "../../protocol/spec.ts";
import { USAGE_NAMES, type UsageCounts } from "../../protocol/status.ts";
import { tracerInUse } from "../../base/trace.ts";
import { Usage } from "./usage.ts";

type Counter = { ok: number; failed: number; seconds: number; buckets: number[] };

/** Upper bounds of the histogram's buckets, seconds. The last bucket has no upper bound. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class Metrics {
  readonly #methods = new Map<string, Counter>();
  readonly usage: Usage;
  readonly #atStart: UsageCounts;

  /** `usageFile`: file that keeps the counters of `usage` over restarts. */
  constructor(usageFile?: string) {
    this.usage = new Usage(usageFile);
    this.#atStart = this.usage.sums();
  }

  count(method: string, tookMs: number, ok: boolean): void {
    const counter = this.#methods.get(method) ?? { ok: 0, failed: 0, seconds: 0, buckets: [...BOUNDS, 0].map(() => 0) };
    const bucket = BOUNDS.findIndex((bound) => tookMs <= bound * 1000);
    const at = bucket < 0 ? BOUNDS.length : bucket;
    counter.buckets[at] = (counter.buckets[at] ?? 0) + 1;
    counter[ok ? "ok" : "failed"] += 1;
    counter.seconds += tookMs / 1000;
    this.#methods.set(method, counter);
  }

  /** Returns the requests by method, the most used methods first. */
  methods(): MethodTimes[] {
    const times = [...this.#methods].map(([method, { ok, failed, buckets }]) => {
      const [p50Ms, p95Ms] = [quantileMs(buckets, 0.5), quantileMs(buckets, 0.95)];
      return { method, calls: ok + failed, failed, p50Ms, p95Ms };
    });
    return times.toSorted((a, b) => b.calls - a.calls);
  }

  /** `stats`: absent while the palace is not open. */
  render(status: StatusReport, stats?: Pick<StatsReport, "outcomes">): string {
    return [...this.#gauges(status), ...this.#usage(stats), ...spans(), ...this.#requests(), ""].join("\n");
  }

  #gauges({
    drawers,
    closets,
    peers,
    queue,
    search,
    driver,
    graph,
    ledgerSizeBytes,
    startedAtMs,
  }: StatusReport): string[] {
    const { rss } = process.memoryUsage();
    const gauges: [name: string, help: string, value: number][] = [
      ["palace_drawers", "Drawers in the ledger", drawers],
      ["palace_closets", "Closets in the ledger", closets.count],
      ["palace_closets_lag", "Closets that are not in the public palace yet", closets.lag],
      ["palace_ledger_bytes", "Size of the ledger with its write-ahead log", ledgerSizeBytes],
      ["palace_peers", "Open message streams", peers],
      ["palace_queue_depth", "Writes waiting", queue.depth],
      ["palace_embedding_pending", "Drawers without a vector yet", search.pending],
      ["palace_graph_lag", "Rows of the graph that are not in MemPalace's files yet", graph.lag],
      ["palace_driver_lag", "Drawers that are not in the public palace yet", driver.lag],
      ["palace_process_resident_bytes", "Resident memory", rss],
      ["palace_start_time_seconds", "Start of this broker, Unix time", startedAtMs / 1000],
    ];
    const { acknowledged, refused } = queue;
    return [
      ...gauges.flatMap(([name, help, value]) => single(name, help, "gauge", value)),
      ...labelled("palace_writes_total", "Writes by outcome", "counter", "outcome", { acknowledged, refused }),
    ];
  }

  #usage(stats: Pick<StatsReport, "outcomes"> | undefined): string[] {
    // Subtracts the counts at the broker's start. The stored counts may be lower after a kill, which Prometheus would take for a reset.
    const usage = this.usage.sums();
    for (const name of USAGE_NAMES) usage[name] -= this.#atStart[name];
    return [
      ...labelled("palace_searches_total", "Answered searches by their best hit", "counter", "answer", {
        ...{ good: usage.searchesGood, weak: usage.searchesWeak, none: usage.searchesNone },
      }),
      ...labelled("palace_injected_tokens_total", "Approximate number of tokens given to agents", "counter", "where", {
        ...{ start: usage.tokensStart, prompt: usage.tokensPrompt },
      }),
      ...single("palace_memories_shown_total", "Memories shown beside prompts", "counter", usage.memoriesShown),
      ...single("palace_late_writes_total", "Writes that waited for a broker", "counter", usage.writesLate),
      ...(stats === undefined ? [] : labelled("palace_outcomes", OUTCOMES, "gauge", "outcome", stats.outcomes)),
    ];
  }

  #requests(): string[] {
    const lines = [
      "# HELP palace_requests_total Requests by method and outcome",
      "# TYPE palace_requests_total counter",
    ];
    // Escapes the names, because another engine's tools may have any name.
    const methods = [...this.#methods].map(([method, counter]) => [quoted(method), counter] as const);
    for (const [method, { ok, failed }] of methods) {
      lines.push(
        `palace_requests_total{method=${method},outcome="ok"} ${ok}`,
        `palace_requests_total{method=${method},outcome="failed"} ${failed}`,
      );
    }
    lines.push(
      "# HELP palace_request_seconds_total Time spent answering",
      "# TYPE palace_request_seconds_total counter",
    );
    for (const [method, { seconds }] of methods)
      lines.push(`palace_request_seconds_total{method=${method}} ${seconds.toFixed(6)}`);
    const name = "palace_request_duration_seconds";
    lines.push(`# HELP ${name} Time of a request`, `# TYPE ${name} histogram`);
    for (const [method, { buckets, seconds }] of methods) {
      let sum = 0;
      buckets.forEach((count, at) => {
        sum += count;
        lines.push(`${name}_bucket{method=${method},le="${BOUNDS[at] ?? "+Inf"}"} ${sum}`);
      });
      lines.push(`${name}_sum{method=${method}} ${seconds.toFixed(6)}`, `${name}_count{method=${method}} ${sum}`);
    }
    return lines;
  }
}

/** Returns a label's value as Prometheus' text format has it. Only these three characters are escaped there. */
function quoted(value: string): string {
  return `"${value.replaceAll(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

function spans(): string[] {
  const counts = tracerInUse()?.counts();
  return counts === undefined ? [] : labelled("palace_spans_total", SPANS, "counter", "outcome", counts);
}

const SPANS = "Spans that the collector received, and lost spans";
const OUTCOMES = "Outcomes reported for memories";

function single(name: string, help: string, type: "counter" | "gauge", value: number): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value}`];
}

function labelled(
  name: string,
  help: string,
  type: "counter" | "gauge",
  label: string,
  values: Readonly<Record<string, number>>,
): string[] {
  const lines = Object.entries(values).map(([key, value]) => `${name}{${label}="${key}"} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

/** Estimates a quantile as Prometheus' histogram_quantile does, in ms. */
function quantileMs(buckets: readonly number[], quantile: number): number {
  const rank = quantile * buckets.reduce((sum, count) => sum + count, 0);
  let below = 0;
  for (const [at, count] of buckets.entries()) {
    const [from, to] = [BOUNDS[at - 1] ?? 0, BOUNDS[at] ?? BOUNDS[at - 1] ?? 0];
    if (count > 0 && below + count >= rank)
      return Math.round((from + ((to - from) * (rank - below)) / count) * 1e5) / 100;
    below += count;
  }
  return 0;
}
