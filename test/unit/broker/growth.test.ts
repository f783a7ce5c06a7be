/** Tests the report of `palace.stats` on the growth of the memory: drawers by day, month or year. */
import { expect, test } from "vitest";
import { growthOf } from "../../../src/broker/dispatch/stats.ts";

/** Returns `count` days from 2020-01-01 on, each with two drawers, and three drawers of an unknown day. */
function daysOf(count: number): { day: string; drawers: number }[] {
  const dayOf = (at: number): string => new Date(Date.UTC(2020, 0, 1 + at)).toISOString().slice(0, 10);
  return [{ day: "", drawers: 3 }, ...Array.from({ length: count }, (_, at) => ({ day: dayOf(at), drawers: 2 }))];
}

test.each([
  [62, "day", 62],
  [63, "month", 3],
  [365 * 6, "year", 6],
  [365 * 90, "year", 62],
])("%i days are shown by %s in %i periods, and the last total has every drawer", (days, unit, periods) => {
  const growth = growthOf(daysOf(days), null);
  expect([growth.unit, growth.periods.length, growth.undated]).toEqual([unit, periods, 3]);
  expect(growth.periods.at(-1)?.total).toBe(3 + 2 * days);
});

test("a report since a given day begins with that day, and its totals also count earlier drawers", () => {
  const { unit, periods } = growthOf(daysOf(400), new Date(2020, 11, 30).getTime());
  expect([unit, periods.length]).toEqual(["day", 400 - 364]);
  expect(periods[0]).toEqual({ begins: "2020-12-30", filed: 2, total: 3 + 2 * 365 });
});

test("if no drawer was filed since the report's first day, the report shows only the last period", () => {
  expect(growthOf(daysOf(10), Date.now()).periods).toEqual([{ begins: "2020-01-10", filed: 2, total: 23 }]);
});

test("if no drawer has a known day, the report has no periods", () => {
  expect(growthOf([{ day: "", drawers: 4 }], null)).toEqual({ unit: "day", undated: 4, periods: [] });
});
