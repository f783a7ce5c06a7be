/** Tests of cancelled requests. They get no answer. A cancelled write is skipped unless its commit has begun. */
import { expect, test } from "vitest";
import type { MethodsDependencies } from "../../../src/broker/dispatch/call.ts";
import { createDispatch } from "../../../src/broker/dispatch/methods.ts";
import { Metrics } from "../../../src/broker/dispatch/metrics.ts";
import { WriteQueue } from "../../../src/broker/palace/write-queue.ts";
import type { Peer } from "../../../src/broker/peer.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import type { WriteCall, WriteOutcome } from "../../../src/memory/port/ledger.ts";

const peer: Peer = { id: 1, agent: "test", door: "unix", role: "admin", uid: 0, pid: 1, tools: "full" };
const noChanges = { added: [], written: [], removed: [] };

/** Returns a queue whose commits wait for `release`. */
function heldQueue(): { queue: WriteQueue; committed: string[]; release: () => void } {
  const committed: string[] = [];
  let go = Promise.withResolvers<void>();
  const queue = new WriteQueue({
    commit: async (calls) => {
      await go.promise;
      committed.push(...calls.map(({ key }) => key));
      const outcomes = calls.map((): WriteOutcome => ({
        outcome: { ok: true, value: { success: true } },
        replayed: false,
      }));
      return { outcomes, changes: noChanges as never };
    },
    onCommit: () => {},
  });
  return {
    queue,
    committed,
    release: () => {
      go.resolve();
      go = Promise.withResolvers();
      go.resolve();
    },
  };
}

test("the queue skips a cancelled write that waits, and finishes a cancelled write that has begun", async () => {
  const { queue, committed, release } = heldQueue();
  const call = (key: string): WriteCall =>
    ({ key, isRepeatable: true, method: "add_drawer", params: {}, peer, requestId: key, atMs: 1 }) as WriteCall;
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const begun = queue.submit(1, call("begun"), 1, first.signal);
  // Waits until the first commit has begun.
  await new Promise((resolve) => setTimeout(resolve, 5));
  const waiting = queue.submit(1, call("waiting"), 1, second.signal);
  const kept = queue.submit(2, call("kept"), 1, third.signal);
  first.abort(new Error("too late"));
  second.abort(new Error("taken back"));
  release();
  await expect(waiting).rejects.toThrow("taken back");
  expect(await begun).toMatchObject({ outcome: { ok: true } });
  expect(await kept).toMatchObject({ outcome: { ok: true } });
  await queue.drain();
  expect(committed).toEqual(["begun", "kept"]);
  expect(queue.depth).toBe(0);
});

test("a cancelled request gets no answer, and the peer's other requests get their answers", async () => {
  const { queue, committed, release } = heldQueue();
  const never = new Promise<never>(() => {});
  const dependencies: MethodsDependencies = {
    ready: async () => ({
      ...{ reads: { reader: {} } as never, queue },
      ...{ jobs: {} as never, maintenance: {} as never, hygiene: {} as never, logstream: {} as never },
    }),
    typedError: (error) => error,
    mines: {} as never,
    status: () => ({}) as never,
    stop: () => {},
    pageLink: () => Promise.reject(new Error("no page")),
    ownFiles: {} as never,
    openedRoots: [],
    linkRules: () => ({ hallwayMin: undefined, topicsMin: undefined }),
    redact: "recall",
    metrics: new Metrics(),
    log: SILENT_LOG,
  };
  const dispatch = createDispatch(dependencies);
  const add = (id: number): Promise<unknown> => {
    const args = { wing: "w", room: "r", content: `c${id}` };
    const params = { name: "mempalace_add_drawer", arguments: args, _meta: { "palace/idempotencyKey": `k${id}` } };
    return dispatch(peer, { jsonrpc: "2.0", id, method: "tools/call", params }, 10);
  };
  const cancel = (requestId: number): Promise<unknown> =>
    dispatch(peer, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }, 10);
  const begun = add(1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  const taken = add(2);
  const kept = add(3);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await cancel(2);
  await cancel(99);
  release();
  expect(await taken).toBeUndefined();
  expect(await begun).toMatchObject({ id: 1, result: {} });
  expect(await kept).toMatchObject({ id: 3, result: {} });
  expect(committed).toEqual(["k1", "k3"]);

  // A cancelled read ends at once, even if it hangs.
  const slow = createDispatch({ ...dependencies, ready: () => never });
  const reading = slow(
    peer,
    { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "mempalace_status", arguments: {} } },
    10,
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
  await slow(peer, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } }, 10);
  expect(await reading).toBeUndefined();
});
