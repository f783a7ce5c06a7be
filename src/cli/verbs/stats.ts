/** `palace stats` prints how agents used the memory: searches, texts given to agents, outcomes, late writes, times. */
import type { Growth, StatsReport } from "../../protocol/spec.ts";
import { localDay } from "../../base/clock.ts";
import { type Cell, formatDuration } from "../terminal/output.ts";
import { readTime } from "../terminal/time.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace stats [--since TIME]

Shows what the memory did for your agents: searches and how many had a good hit, the approximate number of tokens that agents were given, whether the
shown memories helped, writes that waited for a broker and were stored later, and how many drawers there are. The counters outlast the
broker. Below are the times of each kind of request since the broker's start, estimated from a histogram.

  --since TIME   count from that day on: 30d, or 2026-11-01. The times of requests always begin at the broker's start`,
  options: options("since="),
  run: async ({ values: { since }, connect, out }) => {
    const client = await connect("palace stats");
    const stats = await client.call(
      "palace.stats",
      since === undefined ? {} : { sinceMs: readTime(since, "since", Date.now()) },
    );
    if (out.isJson) return out.document(stats);
    out.table(describe(stats));
    if (stats.methods.length === 0) return 0;
    out.text("");
    const head: Cell[] = ["requests", "calls", "failed", "p50 ms", "p95 ms"];
    out.table([head, ...stats.methods.map((one) => [one.method, one.calls, one.failed, one.p50Ms, one.p95Ms])]);
    return 0;
  },
});

function describe({ usage, hitRate, outcomes, helpedRate, ...stats }: StatsReport): Cell[][] {
  const { searchesGood: good, searchesWeak: weak, searchesNone: none } = usage;
  const { worked, partial, failed } = outcomes;
  return [
    ["since", stats.sinceMs === null ? "the first broker" : localDay(stats.sinceMs)],
    [
      "searches",
      `${good + weak + none} answered${share(hitRate, "with a good hit")} (${weak} weak, ${none} without a hit)`,
    ],
    ["tokens", `about ${usage.tokensStart} shown at the start of sessions, ${usage.tokensPrompt} with prompts`],
    ["memories", `${usage.memoriesShown} shown with prompts`],
    ["outcomes", `${worked} helped, ${partial} in part, ${failed} did not${share(helpedRate, "helped")}`],
    ...(stats.growth === undefined ? [] : [["drawers", growthLine(stats.growth)]]),
    ["late writes", `${usage.writesLate} waited for a broker and were stored later`],
    ["broker", `up ${formatDuration(Date.now() - stats.startedAtMs)}`],
  ];
}

function share(rate: number | null, what: string): string {
  return rate === null ? "" : `, ${Math.round(rate * 1000) / 10} % ${what}`;
}

function growthLine({ unit, undated, periods }: Growth): string {
  const last = periods.at(-1);
  if (last === undefined) return String(undated);
  return `${last.total}, ${last.filed} of them filed in the ${unit} ${last.begins}`;
}
