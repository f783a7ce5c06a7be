/** Tests that a memory ages by the time that really passed, whatever the machine's clock says before and after. */
import { expect, test } from "vitest";
import { isTrueTime, tick, type TrueTime, trueAgeMs } from "../../../src/learning/scoring/true-time.ts";
import { type Moment, moment, passedMs } from "../../../src/base/uptime.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const T0 = Date.UTC(2026, 5, 1);

/** Simulated machine: true time passes, its clock may be wrong, and it may restart. */
class Machine {
  #trueMs = T0;
  #bootedMs = T0 - DAY_MS;
  #boots = 0;
  aheadMs = 0;
  time: TrueTime | undefined;

  pass(ms: number): void {
    this.#trueMs += ms;
  }

  off(ms: number): void {
    this.pass(ms);
    this.#bootedMs = this.#trueMs;
    this.#boots += 1;
  }

  get now(): Moment {
    return { wallMs: this.wallMs, uptimeMs: this.#trueMs - this.#bootedMs, bootId: `boot ${this.#boots}` };
  }

  get wallMs(): number {
    return this.#trueMs + this.aheadMs;
  }

  /** Records the time, as a broker does. `row`: number of the newest row. */
  tick(row: number): void {
    this.time = tick(this.time, this.now, row);
  }

  age(row: number, madeMs: number): number {
    if (this.time === undefined) throw new Error("no tick yet");
    return trueAgeMs(this.time, row, madeMs);
  }
}

test("after an hour of true time a memory is an hour older", () => {
  const machine = new Machine();
  machine.tick(0);
  const madeMs = machine.wallMs;
  machine.pass(HOUR_MS);
  machine.tick(2);
  expect([machine.age(1, madeMs), machine.age(2, madeMs - 25 * HOUR_MS)]).toEqual([HOUR_MS, 26 * HOUR_MS]);
  expect(machine.time?.shifts).toHaveLength(1);
});

test.each([100 * DAY_MS, -56 * 365 * DAY_MS])("a clock that is wrong by %d ms does not age memories", (wrongMs) => {
  const machine = new Machine();
  machine.tick(0);
  const before = machine.wallMs;
  machine.tick(1);
  machine.aheadMs = wrongMs;
  for (let start = 0; start < 20; start++) {
    machine.pass(60_000);
    machine.tick(1);
  }
  expect(machine.age(1, before)).toBe(20 * 60_000);
  const during = machine.wallMs;
  machine.pass(HOUR_MS);
  machine.tick(2);
  expect(machine.age(2, during)).toBe(HOUR_MS);
  machine.aheadMs = 0;
  // This memory is filed before the clock's change is noticed.
  const after = machine.wallMs;
  machine.pass(30_000);
  machine.tick(3);
  expect([machine.age(1, before), machine.age(2, during)]).toEqual([HOUR_MS + 20 * 60_000 + 30_000, HOUR_MS + 30_000]);
  expect(machine.age(3, after)).toBeLessThanOrEqual(30_000);
  machine.pass(DAY_MS);
  machine.tick(3);
  machine.tick(4);
  expect(machine.age(4, machine.wallMs - HOUR_MS)).toBe(HOUR_MS);
});

test("restarts with a clock that is 100 days ahead age a memory by at most six hours too much", () => {
  const machine = new Machine();
  machine.tick(0);
  machine.pass(HOUR_MS);
  machine.tick(1);
  const madeMs = machine.wallMs;
  machine.off(60_000);
  machine.aheadMs = 100 * DAY_MS;
  for (let start = 0; start < 20; start++) {
    machine.pass(60_000);
    machine.tick(1);
    machine.off(60_000);
  }
  machine.tick(1);
  // All restarts together add at most six hours to the time that really passed.
  expect(machine.age(1, madeMs)).toBeLessThanOrEqual(6 * HOUR_MS + 2 * 20 * 60_000);
});

test("memories also age on a laptop that is off at night", () => {
  const machine = new Machine();
  machine.tick(0);
  const madeMs = machine.wallMs;
  for (let day = 0; day < 2; day++) {
    machine.pass(8 * HOUR_MS);
    machine.tick(1);
    machine.off(16 * HOUR_MS);
    machine.tick(1);
  }
  // Each of the two nights lasts sixteen hours, of which six count.
  expect(machine.age(1, madeMs)).toBe(28 * HOUR_MS);
  machine.off(60 * DAY_MS);
  machine.tick(1);
  const later = machine.wallMs;
  machine.pass(25 * HOUR_MS);
  machine.tick(2);
  expect(machine.age(2, later)).toBe(25 * HOUR_MS);
});

test("the list of clock jumps has a limit", () => {
  const machine = new Machine();
  machine.tick(0);
  const madeMs = machine.wallMs;
  for (let row = 1; row < 200; row++) {
    machine.aheadMs = row % 2 === 0 ? 0 : DAY_MS;
    machine.pass(HOUR_MS);
    machine.tick(row);
  }
  expect(machine.time?.shifts).toHaveLength(100);
  expect(machine.age(1, madeMs)).toBeLessThanOrEqual(199 * HOUR_MS);
  expect(isTrueTime(JSON.parse(JSON.stringify(machine.time)))).toBe(true);
});

test("another machine's uptime does not count as passed time", () => {
  const there = { wallMs: T0, uptimeMs: HOUR_MS, bootId: "there" };
  expect(passedMs(there, { wallMs: T0 + 60_000, uptimeMs: 300 * DAY_MS, bootId: "here" }, 6 * HOUR_MS)).toBe(60_000);
  const unknown = { ...there, bootId: "unknown" };
  expect(passedMs(unknown, { ...unknown, wallMs: T0 + 60_000, uptimeMs: 300 * DAY_MS }, 0)).toBe(60_000);
  const now = moment();
  expect(passedMs(now, moment(), 0)).toBeLessThan(60_000);
});

test.each([
  undefined,
  7,
  {},
  { shifts: [] },
  { shifts: [{}], bootId: "", trueMs: 1, lastRow: 1, wallMs: 1, uptimeMs: 1 },
])("%j is refused as a stored time", (value) => expect(isTrueTime(value)).toBe(false));
