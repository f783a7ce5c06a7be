/** The clock for the age of memories. If the machine's clock jumps, the times of later memories are corrected by the jump. Pure. */
import { isMoment, type Moment, passedMs } from "../../base/uptime.ts";
import { isRecord } from "../../base/parse-json.ts";

/** Lead of the machine's clock over true time. It surely applies to rows after `afterRow`, and possibly to rows from `fromRow` on. */
type Shift = { fromRow: number; afterRow: number; aheadMs: number };
/** State of the clock at the last tick. `lastRow` is the row of the newest memory at that tick. `shifts` are in row order. */
export type TrueTime = Moment & { trueMs: number; lastRow: number; shifts: Shift[] };

const NOT_SHIFTED: Shift = { fromRow: 0, afterRow: 0, aheadMs: 0 };
/** Maximum time that a stop of the machine adds to the age of memories; the rest of a longer stop does not count. */
const OFF_MAX_MS = 6 * 3_600_000;
/** Minimum difference that counts as a jump. Smaller differences are the clock's own corrections. */
const SHIFT_MIN_MS = 60_000;
const SHIFTS_MAX = 100;

/** Advances the clock. The first tick assumes that the machine's clock is right. */
export function tick(last: TrueTime | undefined, now: Moment, lastRow: number): TrueTime {
  if (last === undefined) return { ...now, trueMs: now.wallMs, lastRow, shifts: [NOT_SHIFTED] };
  const trueMs = last.trueMs + passedMs(last, now, OFF_MAX_MS);
  const aheadMs = now.wallMs - trueMs;
  const isShifted = Math.abs(aheadMs - (last.shifts.at(-1)?.aheadMs ?? 0)) > SHIFT_MIN_MS;
  const shifts = isShifted ? [...last.shifts, { fromRow: last.lastRow, afterRow: lastRow, aheadMs }] : last.shifts;
  return { ...now, trueMs, lastRow, shifts: shifts.length > SHIFTS_MAX ? withoutOldest(shifts) : shifts };
}

/** Returns the time of a clock that has never jumped. */
export function plainTime(trueMs: number): Pick<TrueTime, "trueMs" | "shifts"> {
  return { trueMs, shifts: [NOT_SHIFTED] };
}

/** Returns a memory's age. Between a jump and the next tick the clock is ambiguous, so the younger age counts. */
export function trueAgeMs(
  { trueMs, shifts }: Pick<TrueTime, "trueMs" | "shifts">,
  row: number,
  madeMs: number,
): number {
  const at = shifts.findLastIndex(({ afterRow }) => afterRow < row);
  const possible = shifts.filter(({ fromRow }, index) => index === Math.max(at, 0) || (index > at && fromRow < row));
  return trueMs - madeMs + Math.min(...possible.map(({ aheadMs }) => aheadMs));
}

export function isTrueTime(value: unknown): value is TrueTime {
  if (!isMoment(value)) return false;
  const { trueMs, lastRow, shifts } = value as Partial<TrueTime>;
  const areNumbers = (...values: unknown[]): boolean => values.every((one) => Number.isFinite(one));
  return (
    areNumbers(trueMs, lastRow) &&
    Array.isArray(shifts) &&
    shifts.length > 0 &&
    shifts.every((one: unknown) => isRecord(one) && areNumbers(one["fromRow"], one["afterRow"], one["aheadMs"]))
  );
}

function withoutOldest([oldest, next, ...rest]: Shift[]): Shift[] {
  return [{ ...NOT_SHIFTED, aheadMs: Math.min(oldest?.aheadMs ?? 0, next?.aheadMs ?? 0) }, ...rest];
}
