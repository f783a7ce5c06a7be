/** Answer to `palace.stats`, from the counters, the request times and the outcomes in the ledger. Pure. */
import type { LedgerReader } from "../../memory/port/ledger.ts";
import type { StatsReport } from "../../protocol/spec.ts";
import type { Metrics } from "./metrics.ts";

export function statsOf(
  metrics: Metrics,
  reader: Pick<LedgerReader, "toldSince">,
  startedAtMs: number,
  askedMs: number | null,
): StatsReport {
  // The counters know days only, so the outcomes begin with the same day.
  const sinceMs = askedMs === null ? null : new Date(askedMs).setHours(0, 0, 0, 0);
  const usage = metrics.usage.sums(sinceMs ?? 0);
  const { worked, partial, failed } = reader.toldSince(sinceMs ?? 0);
  return {
    sinceMs,
    usage,
    hitRate: shareOf(usage.searchesGood, usage.searchesGood + usage.searchesWeak + usage.searchesNone),
    outcomes: { worked, partial, failed },
    helpedRate: shareOf(worked, worked + partial + failed),
    startedAtMs,
    methods: metrics.methods(),
  };
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : Number((part / whole).toFixed(4));
}
