/** Tests of calls that wait for an event: what wakes them, what ends them, and how many may wait. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventWaits } from "../../../src/broker/palace/event-waits.ts";
import { EVENT_WAITS_MAX, EVENT_WAITS_PEER_MAX } from "../../../src/protocol/limits.ts";

let version: string | Error;
let looks: number;
let waits: EventWaits;
const never = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers();
  [version, looks] = ["1", 0];
  waits = new EventWaits(() => {
    looks += 1;
    return version instanceof Error ? Promise.reject(version) : Promise.resolve(version);
  });
});
afterEach(() => {
  waits.end();
  vi.useRealTimers();
});

/** Returns a promise's state: waiting, or its value or error code. */
function watched(promise: Promise<boolean>): { ended: unknown } {
  const state: { ended: unknown } = { ended: "waits" };
  promise.then(
    (value) => (state.ended = value),
    (error: unknown) => (state.ended = (error as { code?: string }).code ?? error),
  );
  return state;
}

test("a commit wakes a waiting call at once, and a commit between `mark` and the call counts too", async () => {
  using wait = waits.begin(1, 10_000, never);
  waits.wake();
  const state = watched(wait.change(wait.mark()));
  await vi.advanceTimersByTimeAsync(0);
  expect(state.ended).toBe("waits");
  const mark = wait.mark();
  waits.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(state.ended).toBe(true);
  expect(await wait.change(mark)).toBe(true);
});

test("a wait notices a commit of another process within 250 ms; the broker does not poll while no call waits", async () => {
  const wait = waits.begin(1, 10_000, never);
  await vi.advanceTimersByTimeAsync(300);
  const state = watched(wait.change(wait.mark()));
  version = new Error("locked");
  await vi.advanceTimersByTimeAsync(300);
  expect(state.ended).toBe("waits");
  version = "2";
  await vi.advanceTimersByTimeAsync(250);
  expect(state.ended).toBe(true);
  wait[Symbol.dispose]();
  const before = looks;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(looks).toBe(before);
});

test("a call looks for events once more when its waiting time is over", async () => {
  using wait = waits.begin(1, 1_000, never);
  // Waits for the first poll of the log's version. The poll counts as a change, because no earlier version is known.
  await vi.advanceTimersByTimeAsync(300);
  const state = watched(wait.change(wait.mark()));
  await vi.advanceTimersByTimeAsync(699);
  expect(state.ended).toBe("waits");
  await vi.advanceTimersByTimeAsync(2);
  expect(state.ended).toBe(false);
  expect(await wait.change(wait.mark())).toBe(false);
  using other = waits.begin(1, 1_000, never);
  const mark = other.mark();
  await vi.advanceTimersByTimeAsync(1_500);
  waits.wake();
  expect([await other.change(mark), await other.change(other.mark())]).toEqual([true, false]);
});

test("a wait ends when its caller cancels, its peer leaves or the broker ends", async () => {
  const controller = new AbortController();
  using a = waits.begin(1, 10_000, controller.signal);
  using b = waits.begin(2, 10_000, never);
  using c = waits.begin(3, 10_000, never);
  const states = [a, b, c].map((wait) => watched(wait.change(wait.mark())));
  controller.abort(Object.assign(new Error("gone"), { code: "GONE" }));
  waits.leave(2);
  await vi.advanceTimersByTimeAsync(0);
  expect(states.map(({ ended }) => ended)).toEqual(["GONE", "BROKER_CANCELLED", "waits"]);
  waits.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(states[2]?.ended).toBe("BROKER_SHUTTING_DOWN");
  expect(() => waits.begin(4, 1, never)).toThrow(expect.objectContaining({ code: "BROKER_SHUTTING_DOWN" }));
});

test("one peer, and all peers together, may have only a limited number of waits", () => {
  const begin = (peer: number) => waits.begin(peer, 10_000, never);
  const busy = expect.objectContaining({ code: "BROKER_BUSY" }) as Error;
  const own = Array.from({ length: EVENT_WAITS_PEER_MAX }, () => begin(0));
  expect(() => begin(0)).toThrow(busy);
  own[0]?.[Symbol.dispose]();
  begin(0);
  for (let count = EVENT_WAITS_PEER_MAX; count < EVENT_WAITS_MAX; count++)
    begin(1 + Math.floor(count / EVENT_WAITS_PEER_MAX));
  expect(() => begin(99)).toThrow(busy);
});
