/** Tests the limits of a socket: connections, bytes buffered for them, and requests that start in one turn of the event loop. */
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HeldBytes, type Holder } from "../../../src/broker/door/held.ts";
import { Places } from "../../../src/broker/door/places.ts";
import { Starts } from "../../../src/broker/door/starts.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { PEER_CONNECTIONS_MAX, PEERS_KEPT, PEERS_MAX, UNPROVEN_MAX } from "../../../src/protocol/limits.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open(): Socket & { isOpen: boolean } {
  const socket = Object.assign(new EventEmitter(), { isOpen: true, destroy: () => {} });
  socket.destroy = () => {
    socket.isOpen = false;
    socket.emit("close");
  };
  return socket as unknown as Socket & { isOpen: boolean };
}
const peer = (key: string, isOwner = false) => ({ key, name: key, isOwner });

test("above the limit, the broker closes the oldest connections that are not admitted yet, and no admitted connection", () => {
  const places = new Places(SILENT_LOG);
  const admitted = open();
  places.arrive(admitted);
  expect(places.admit(admitted, peer("a"))).toBeUndefined();
  const silent = Array.from({ length: UNPROVEN_MAX + 2 }, open);
  for (const socket of silent) places.arrive(socket);
  expect(silent.filter(({ isOpen }) => !isOpen)).toEqual(silent.slice(0, 2));
  expect(admitted.isOpen).toBe(true);
});

test("a connection has 10 s until it must be admitted, and 2 s while many connections are not admitted", async () => {
  const places = new Places(SILENT_LOG);
  const alone = open();
  places.arrive(alone);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(alone.isOpen).toBe(true);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(alone.isOpen).toBe(false);
  const many = Array.from({ length: UNPROVEN_MAX / 2 }, open);
  for (const socket of many) places.arrive(socket);
  await vi.advanceTimersByTimeAsync(1_500);
  expect(many.every(({ isOpen }) => isOpen)).toBe(true);
  await vi.advanceTimersByTimeAsync(1_500);
  // So few connections remain that each has 10 s again.
  expect(many.filter(({ isOpen }) => isOpen)).toHaveLength(UNPROVEN_MAX / 4);
});

test("one peer, and all peers together, may have only a limited number of connections; some are reserved for the owner", () => {
  const places = new Places(SILENT_LOG);
  const join = (key: string, isOwner = false): [Socket, string | undefined] => {
    const socket = open();
    places.arrive(socket);
    return [socket, places.admit(socket, peer(key, isOwner))?.why];
  };
  const own = Array.from({ length: PEER_CONNECTIONS_MAX }, () => join("a"));
  expect(own.every(([, why]) => why === undefined)).toBe(true);
  expect(join("a")[1]).toBe(`too many connections of a: ${PEER_CONNECTIONS_MAX} is the maximum for one peer`);
  for (let count = PEER_CONNECTIONS_MAX; count < PEERS_MAX - PEERS_KEPT; count++)
    expect(join(`b${count % 7}`)[1]).toBeUndefined();
  expect(join("c")[1]).toMatch(/^too many connections of 8 peers/);
  const owners = Array.from({ length: PEERS_KEPT }, () => join("owner", true)[1]);
  expect(owners.every((why) => why === undefined)).toBe(true);
  expect(join("owner", true)[1]).toMatch(/^too many connections/);
  const [first] = own[0] as [Socket, undefined];
  first.destroy();
  expect(join("a")[1]).toMatch(/^too many connections of 9 peers/);
  expect(join("owner", true)[1]).toBeUndefined();
  // A connection counts once, even if it is admitted twice.
  const [again] = own[1] as [Socket, undefined];
  expect(places.admit(again, peer("a"))).toBeUndefined();
});

test("if too many bytes are buffered, the broker closes the connections that have waited longest", async () => {
  const cut: string[] = [];
  const bytes = new HeldBytes(100, 1_000, () => {});
  const holder = (name: string): Holder => ({ about: { name }, cut: () => cut.push(name) });
  const [a, b, c] = [holder("a"), holder("b"), holder("c")];
  bytes.set(a, 40, true);
  await vi.advanceTimersByTimeAsync(600);
  bytes.set(b, 40, true);
  await vi.advanceTimersByTimeAsync(600);
  bytes.set(c, 20, true);
  expect([bytes.isOver, cut]).toEqual([false, []]);
  // By now `a` has waited 1,200 ms and `b` 600 ms.
  bytes.set(c, 50, false);
  expect([bytes.isOver, cut]).toEqual([false, ["a"]]);
  bytes.set(c, 90, true);
  expect([bytes.isOver, cut]).toEqual([true, ["a"]]);
  await vi.advanceTimersByTimeAsync(600);
  expect([bytes.isOver, cut]).toEqual([false, ["a", "b"]]);
  bytes.set(c, 0, false);
  bytes.set(a, 100, true);
  expect([bytes.isOver, cut]).toEqual([false, ["a", "b"]]);
});

test("a connection's waiting time starts at its last progress", async () => {
  const cut: unknown[] = [];
  const bytes = new HeldBytes(100, 1_000, (about) => cut.push(about));
  const holder = (name: string): Holder => ({ about: { name }, cut: () => {} });
  const [a, b, c, d] = [holder("a"), holder("b"), holder("c"), holder("d")];
  bytes.set(d, 10, true);
  bytes.set(d, 0, false);
  bytes.set(a, 40, true);
  await vi.advanceTimersByTimeAsync(100);
  bytes.set(b, 40, true);
  await vi.advanceTimersByTimeAsync(900);
  bytes.set(b, 45, false);
  bytes.set(a, 40, true);
  await vi.advanceTimersByTimeAsync(200);
  // The last progress of `a` was 200 ms ago, and the last progress of `b` was 1,100 ms ago: a growing buffer is not progress.
  bytes.set(c, 40, true);
  expect(cut).toEqual([{ name: "b", bytes: 45, waitedMs: 1_100 }]);
  expect(bytes.isOver).toBe(false);
});

test("the broker starts at most 32 requests in a turn of the event loop, and streams take turns", async () => {
  const starts = new Starts();
  const started: string[] = [];
  const stream = (name: string, count: number) => {
    let left = count;
    return { startNext: () => (started.push(name), (left -= 1) > 0) };
  };
  const [a, b] = [stream("a", 40), stream("b", 2)];
  for (let count = 0; count < 32; count++) expect(starts.take(a)).toBe(true);
  expect([starts.take(a), starts.take(b), starts.take(a)]).toEqual([false, false, false]);
  await vi.advanceTimersToNextTimerAsync();
  expect([started.length, started.slice(0, 5)]).toEqual([32, ["a", "b", "a", "b", "a"]]);
  await vi.runAllTimersAsync();
  expect(started).toHaveLength(42);
  expect(starts.take(b)).toBe(true);
});
