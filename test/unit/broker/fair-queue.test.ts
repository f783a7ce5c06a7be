/** Tests the fair queue: turns between peers, limits, and removal of cancelled items. */
import { expect, test } from "vitest";
import { FairQueue } from "../../../src/broker/palace/fair-queue.ts";

const make = (): FairQueue<string> => new FairQueue({ depth: 6, depthPeer: 4, sizeBytes: 100, what: "requests" });
const drain = (lanes: FairQueue<string>): (string | undefined)[] =>
  Array.from({ length: lanes.depth }, () => lanes.shift()?.item);

test("peers take turns, and the items of a peer keep their order", () => {
  const lanes = make();
  for (const item of ["a1", "a2", "a3"]) lanes.push(1, item, 1);
  lanes.push(2, "b1", 1);
  lanes.push(2, "b2", 1);
  expect(drain(lanes)).toEqual(["a1", "b1", "a2", "b2", "a3"]);
  expect(lanes.shift()).toBeUndefined();
});

test("the queue refuses too many items of a peer, too many items and too many bytes with BROKER_BUSY and a retry time", () => {
  const lanes = make();
  const busy = expect.objectContaining({ code: "BROKER_BUSY", retryAfterMs: 100 }) as Error;
  for (let index = 0; index < 4; index++) lanes.push(1, `a${index}`, 1);
  expect(() => lanes.push(1, "a4", 1)).toThrow(busy);
  expect(() => lanes.push(2, "large", 97)).toThrow(busy);
  lanes.push(2, "b0", 1);
  lanes.push(3, "c0", 1);
  expect(() => lanes.push(4, "d0", 1)).toThrow(busy);
  expect([lanes.depth, lanes.refused]).toEqual([6, 3]);
  expect(drain(lanes)).toEqual(["a0", "b0", "c0", "a1", "a2", "a3"]);
  lanes.push(1, "again", 100);
  expect(lanes.depth).toBe(1);
});

test("a removed item does not count against the limits, and the peers keep taking turns", () => {
  const lanes = make();
  for (const [peer, item] of [
    [1, "a1"],
    [1, "a2"],
    [2, "b1"],
    [3, "c1"],
  ] as const)
    lanes.push(peer, item, 25);
  expect(lanes.take((item) => item === "a1" || item === "b1")).toEqual(["a1", "b1"]);
  expect(lanes.depth).toBe(2);
  lanes.push(4, "d1", 50);
  expect(drain(lanes)).toEqual(["a2", "c1", "d1"]);
});
