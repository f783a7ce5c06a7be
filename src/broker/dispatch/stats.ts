/** Answers `palace.stats` from the counters, the request times and the outcomes in the ledger. */
import type { LedgerReader } from "../../memory/port/ledger.ts";
import { localDay } from "../../base/clock.ts";
import type { Growth, StatsReport } from "../../protocol/spec.ts";
import type { Metrics } from "./metrics.ts";

export async function statsOf(
  metrics: Metrics,
  reader: Pick<LedgerReader, "toldSince" | "growth">,
  startedAtMs: number,
  askedMs: number | null,
): Promise<StatsReport> {
  // The counters count whole days, so the outcomes are also counted from the start of a day.
  const sinceMs = askedMs === null ? null : new Date(askedMs).setHours(0, 0, 0, 0);
  const usage = metrics.usage.sums(sinceMs ?? 0);
  const { worked, partial, failed } = await reader.toldSince(sinceMs ?? 0);
  return {
    sinceMs,
    usage,
    hitRate: shareOf(usage.searchesGood, usage.searchesGood + usage.searchesWeak + usage.searchesNone),
    outcomes: { worked, partial, failed },
    helpedRate: shareOf(worked, worked + partial + failed),
    growth: growthOf(reader.growth(), sinceMs),
    startedAtMs,
    methods: metrics.methods(),
  };
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : Number((part / whole).toFixed(4));
}

/** Maximum number of periods in the answer. If there are more days, the periods are months; if there are more months, years. */
const PERIODS_MAX = 62;
const UNITS = [
  ["day", "2026-11-29".length],
  ["month", "2026-11".length],
  ["year", "2026".length],
] as const;

/** Adds up the days of each period. Omits periods before `sinceMs`, but `total` counts them. Keeps at most the newest PERIODS_MAX. */
export function growthOf(days: readonly { day: string; drawers: number }[], sinceMs: number | null): Growth {
  const undated = days.find(({ day }) => day === "")?.drawers ?? 0;
  const first = sinceMs === null ? "" : localDay(sinceMs);
  let shortest: Growth = { unit: "day", undated, periods: [] };
  for (const [unit, length] of UNITS) {
    const filed = new Map<string, number>();
    for (const { day, drawers } of days)
      if (day !== "") filed.set(day.slice(0, length), (filed.get(day.slice(0, length)) ?? 0) + drawers);
    let total = undated;
    const periods = [...filed].map(([begins, drawers]) => ({ begins, filed: drawers, total: (total += drawers) }));
    const since = periods.filter(({ begins }) => begins >= first.slice(0, length));
    // If no drawer was filed since `sinceMs`, keeps the last period, because it has the total number of drawers.
    shortest = { unit, undated, periods: since.length === 0 ? periods.slice(-1) : since };
    if (shortest.periods.length <= PERIODS_MAX) break;
  }
  return { ...shortest, periods: shortest.periods.slice(-PERIODS_MAX) };
}
