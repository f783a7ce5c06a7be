/** Turns a filter of drawers into SQL, and selects the index for a time window. */
import type { DrawerFilter } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { SAID_AT } from "../schema/said-index.ts";

/** Finds a room in any wing by the index on (wing, room). Another index on rooms would make every write change one page more. */
export const IN_ROOM = "(wing, room) IN (SELECT wing, room FROM place WHERE room = ?)";

/** Cost of reading a drawer's time from its row, relative to reading it from the index of times. */
const READ_COST = 30;

export type Condition = { where: string; values: string[] };

export function condition(filter: DrawerFilter): Condition {
  const parts: string[] = [];
  const values: string[] = [];
  const { wing, wings, room, sourceFile, since, before } = filter;
  if (wing !== undefined) (parts.push("wing = ?"), values.push(wing));
  if (wings !== undefined) (parts.push(`wing IN (${wings.map(() => "?").join(", ")})`), values.push(...wings));
  if (room !== undefined) (parts.push(wing === undefined ? IN_ROOM : "room = ?"), values.push(room));
  if (sourceFile !== undefined) (parts.push("source_file = ? AND source_file <> ''"), values.push(sourceFile));
  for (const [bound, comparison] of [[since, ">="] as const, [before, "<"] as const]) {
    if (bound === undefined) continue;
    const moment = momentCondition(bound, comparison);
    parts.push(...moment.parts);
    values.push(...moment.values);
  }
  return { where: parts.length === 0 ? "" : `WHERE ${parts.join(" AND ")}`, values };
}

/** Compares times in UTC (with Z) or local time with a local bound. The second condition is exact; the first lets SQLite use the index. */
function momentCondition(local: string, comparison: ">=" | "<"): { parts: string[]; values: string[] } {
  const utc = utcOf(local);
  if (utc === local) return { parts: [`${SAID_AT} ${comparison} ?`], values: [local] };
  const outer = utc < local === (comparison === ">=") ? utc : local;
  const exact = `CASE WHEN ${SAID_AT} GLOB '*Z' THEN ${SAID_AT} ${comparison} ? ELSE ${SAID_AT} ${comparison} ? END`;
  return { parts: [`${SAID_AT} ${comparison} ?`, exact], values: [outer, utc, local] };
}

/** Returns a local bound in UTC, without Z. Writes midnight as a date without a time, as local bounds do. */
function utcOf(local: string): string {
  const date = new Date(local.length === 10 ? `${local}T00:00:00` : local);
  const utc = Number.isNaN(date.getTime()) ? local : date.toISOString().slice(0, -1);
  return utc.endsWith(".000") ? utc.slice(0, utc.endsWith("T00:00:00.000") ? 10 : -4) : utc;
}

export function isWindow({ since, before }: DrawerFilter): boolean {
  return since !== undefined || before !== undefined;
}

/** Returns SQL to put after the table's name, which selects the index for a time window; "" for other filters. */
export function windowIndex(database: LedgerDatabase, filter: DrawerFilter): string {
  if (!isWindow(filter)) return "";
  if (filter.sourceFile !== undefined) return "INDEXED BY drawer_source";
  const { wing = null, room = null, wings } = filter;
  if (wing === null && room === null && wings === undefined) return "INDEXED BY drawer_said";
  const { here, everywhere } = database
    .prepare<(string | null)[], { here: number | null; everywhere: number | null }>(
      `SELECT sum(drawers) FILTER (WHERE coalesce(?, wing) = wing AND coalesce(?, room) = room
           AND (? IS NULL OR wing IN (SELECT value FROM json_each(?)))) AS here,
         sum(drawers) AS everywhere FROM place`,
    )
    .get(wing, room, ...[1, 2].map(() => (wings === undefined ? null : JSON.stringify(wings)))) ?? {
    here: 0,
    everywhere: 0,
  };
  return (here ?? 0) * READ_COST < (everywhere ?? 0) ? "INDEXED BY drawer_place" : "INDEXED BY drawer_said";
}
