/**
 * The clock that memories age by. It advances by the time that has really passed; a jump of the machine's clock changes only
 * how the times of the memories made since are read. Pure.
 */
import { isMoment, type Moment, passedMs } from "../../base/uptime.ts";
import { isRecord } from "../../base/is-record.ts";

/** Time by which the machine's clock is ahead of the true time: for rows after `afterRow`, and perhaps for those after `fromRow`. */
type Shift = { fromRow: number; afterRow: number; aheadMs: number };
/** `trueMs`: the time at the moment of the last tick. `lastRow`: of the newest memory then. `shifts`: in the order of rows. */
export type TrueTime = Moment & { trueMs: number; lastRow: number; shifts: Shift[] };

const NOT_SHIFTED: Shift = { fromRow: 0, afterRow: 0, aheadMs: 0 };
/** Time that a machine which was off is believed at once. Memories outlive a longer one by the rest of it. */
const OFF_MAX_MS = 6 * 3_600_000;
/** Smaller differences are the clock's own corrections. */
const SHIFT_MIN_MS = 60_000;
const SHIFTS_MAX = 100;

/** Advances the clock. Without an earlier tick the machine's clock counts as right. */
export function tick(last: TrueTime | undefined, now: Moment, lastRow: number): TrueTime {
  if (last === undefined) return { ...now, trueMs: now.wallMs, lastRow, shifts: [NOT_SHIFTED] };
  const trueMs = last.trueMs + passedMs(last, now, OFF_MAX_MS);
  const aheadMs = now.wallMs - trueMs;
  const isShifted = Math.abs(aheadMs - (last.shifts.at(-1)?.aheadMs ?? 0)) > SHIFT_MIN_MS;
  const shifts = isShifted ? [...last.shifts, { fromRow: last.lastRow, afterRow: lastRow, aheadMs }] : last.shifts;
  return { ...now, trueMs, lastRow, shifts: shifts.length > SHIFTS_MAX ? withoutOldest(shifts) : shifts };
}

/** The time of a clock that has never jumped. */
export function plainTime(trueMs: number): Pick<TrueTime, "trueMs" | "shifts"> {
  return { trueMs, shifts: [NOT_SHIFTED] };
}

/**
 * Returns a memory's age. A memory filed between a jump and the tick that noticed it may be dated by either side of it: the
 * younger age counts.
 */
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
