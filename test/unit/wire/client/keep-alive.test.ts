/** While answers are pending, a client pings a broker that sends no byte. It closes the connection if the broker stays silent. */
import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KeepAlive } from "../../../../src/wire/client/keep-alive.ts";
import { SYSTEM_CLOCK } from "../../../../src/base/clock.ts";

/** Socket members that the client reads, and a record of what it sent. */
type Line = { bytesWritten: number; writableLength: number; destroyed: boolean; sent: string[] };

let line: Line;
let isAwaiting: boolean;
let alive: KeepAlive;

beforeEach(() => {
  vi.useFakeTimers();
  // The first request comes long after the connection was made.
  vi.advanceTimersByTime(60_000);
  line = { bytesWritten: 100, writableLength: 0, destroyed: false, sent: [] };
  isAwaiting = true;
  alive = new KeepAlive(SYSTEM_CLOCK);
  const socket = Object.assign(line, {
    write: (text: string) => line.sent.push(text),
    destroy: () => void (line.destroyed = true),
  }) as unknown as Socket;
  alive.watch(socket, () => isAwaiting);
});
afterEach(() => {
  alive.stop();
  vi.useRealTimers();
});

test("the client pings after 4 s of silence and closes the connection after 5 s", async () => {
  await vi.advanceTimersByTimeAsync(1_500);
  expect(line.sent).toEqual([]);
  await vi.advanceTimersByTimeAsync(2_500);
  expect(line.sent).toEqual(['{"jsonrpc":"2.0","id":"palace/ping","method":"ping"}\n']);
  expect([alive.isPong("palace/ping"), alive.isPong(1)]).toEqual([true, false]);
  expect(line.destroyed).toBe(false);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(line.destroyed).toBe(true);
});

test("an arriving byte restarts the time of silence", async () => {
  await vi.advanceTimersByTimeAsync(4_000);
  alive.heard();
  await vi.advanceTimersByTimeAsync(4_000);
  expect([line.destroyed, line.sent.length]).toEqual([false, 2]);
});

test("a connection stays open during a long message and closes when sending is stuck", async () => {
  line.writableLength = 50_000;
  for (let second = 0; second < 10; second++) {
    line.writableLength -= 1_000;
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect([line.destroyed, line.sent]).toEqual([false, []]);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(line.destroyed).toBe(true);
});

test("without a pending answer the client sends no ping and runs no timer", async () => {
  isAwaiting = false;
  await vi.advanceTimersByTimeAsync(10_000);
  expect([line.destroyed, line.sent, vi.getTimerCount()]).toEqual([false, [], 0]);
});
