/** Requests to MemPalace's own server wait in a queue. They run one at a time and peers take turns, also when the server dies. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Call, RequestQueue } from "../../../src/broker/child/request-queue.ts";
import type { Supervisor } from "../../../src/broker/child/supervisor.ts";
import { PalaceError } from "../../../src/base/errors.ts";

type Running = PromiseWithResolvers<unknown> & { method: string };

/** Requests that reached the server, in order. */
let begun: Running[];
let cancels: number;
let supervisor: {
  session: { request: (method: string) => Promise<unknown>; cancel: () => void } | undefined;
  failed: PalaceError | undefined;
  lastError: PalaceError | undefined;
  wake: () => void;
  answered: () => void;
  replace: () => void;
};
let queue: RequestQueue;

beforeEach(() => {
  vi.useFakeTimers();
  [begun, cancels] = [[], 0];
  const session = {
    request: (method: string) => {
      const running = { ...Promise.withResolvers<unknown>(), method };
      begun.push(running);
      return running.promise;
    },
    cancel: () => void (cancels += 1),
  };
  const [failed, lastError] = [undefined, undefined];
  supervisor = { session, failed, lastError, wake: vi.fn(), answered: vi.fn(), replace: vi.fn() };
  queue = new RequestQueue(supervisor as unknown as Supervisor, 1_000);
});
afterEach(() => void vi.useRealTimers());

const call = (method: string, more: Partial<Call> = {}): Call => ({
  ...{ peerId: 1, id: method, method, params: {}, isWrite: false, onProgress: undefined },
  ...more,
});
const submit = (method: string, more: Partial<Call> = {}): Promise<unknown> =>
  queue.submit(call(method, more), 1).catch((error: PalaceError) => error.code);
const methods = (): string[] => begun.map(({ method }) => method);
const pass = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const lost = new PalaceError("ENGINE_CALL_LOST", "it died", "");

test("one request runs at a time, even if two peers send requests", async () => {
  const answers = [submit("a1"), submit("a2"), submit("b1", { peerId: 2 }), submit("w", { peerId: 2, isWrite: true })];
  for (const expected of [["a1"], ["a1", "a2"], ["a1", "a2", "b1"], ["a1", "a2", "b1", "w"]]) {
    await pass();
    expect([methods().length, methods()[0]]).toEqual([expected.length, "a1"]);
    begun.at(-1)?.resolve(begun.at(-1)?.method);
  }
  expect((await Promise.all(answers)).toSorted()).toEqual(["a1", "a2", "b1", "w"]);
  expect(queue.answeredWrites).toBe(1);
});

test("a write that the server's tool refused counts as refused", async () => {
  const refused = { content: [{ type: "text", text: '{"success":false,"error":"Drawer not found"}' }] };
  const done = { content: [{ type: "text", text: '{"success":true}' }] };
  for (const result of [refused, { content: [], isError: true }, done]) {
    const answer = submit("w", { isWrite: true });
    await pass();
    begun.at(-1)?.resolve(result);
    await answer;
  }
  expect([queue.answeredWrites, queue.refused]).toEqual([1, 2]);
});

test("after the server died the queue repeats a read once and fails a write", async () => {
  const [read, next] = [submit("read"), submit("next")];
  begun[0]?.reject(lost);
  await pass();
  expect(methods()).toEqual(["read", "read"]);
  begun[1]?.reject(lost);
  expect(await read).toBe("ENGINE_CALL_LOST");
  await pass();
  begun[2]?.resolve("done");
  expect(await next).toBe("done");
  const write = submit("write", { isWrite: true });
  begun[3]?.reject(lost);
  expect(await write).toBe("ENGINE_CALL_LOST");
  expect(methods()).toEqual(["read", "read", "next", "write"]);
});

test("the supervisor replaces the server after a request took too long", async () => {
  const slow = submit("slow");
  begun[0]?.reject(new PalaceError("ENGINE_TIMEOUT", "too long", ""));
  expect(await slow).toBe("ENGINE_TIMEOUT");
  expect(supervisor.replace).toHaveBeenCalledOnce();
});

test("a request starts a missing server and waits up to half a minute for it", async () => {
  const { session } = supervisor;
  supervisor.session = undefined;
  supervisor.lastError = new PalaceError("ENGINE_UNAVAILABLE", "no python", "");
  const early = submit("early");
  expect(supervisor.wake).toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(29_000);
  supervisor.session = session;
  queue.run();
  begun[0]?.resolve("early");
  expect(await early).toBe("early");
  await pass();
  supervisor.session = undefined;
  const late = queue.submit(call("late"), 1).catch((error: PalaceError) => error.message);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await late).toBe("the engine is still being started; before that: no python");
  supervisor.failed = new PalaceError("ENGINE_UNAVAILABLE", "gone", "");
  expect(() => queue.submit(call("never"), 1)).toThrow("gone");
});

test("the queue can cancel one call, or all calls of a peer that leaves, but not a running write", async () => {
  const running = submit("running", { isWrite: true });
  const [mine, other] = [submit("mine"), submit("mine", { peerId: 2 })];
  queue.cancel(1, "mine");
  expect(await mine).toBe("BROKER_CANCELLED");
  queue.leave(1);
  expect(cancels).toBe(0);
  begun[0]?.resolve("written");
  expect(await running).toBe("written");
  await pass();
  queue.leave(2);
  expect(cancels).toBe(1);
  begun[1]?.resolve("read");
  expect(await other).toBe("read");
});

test("a queue that is ending refuses waiting requests and finishes the running request", async () => {
  const [running, waiting] = [submit("running"), submit("waiting")];
  let isOver = false;
  const drained = queue.drain().then(() => (isOver = true));
  expect(await waiting).toBe("BROKER_SHUTTING_DOWN");
  expect(() => queue.submit(call("late"), 1)).toThrow(expect.objectContaining({ code: "BROKER_SHUTTING_DOWN" }));
  await pass();
  expect(isOver).toBe(false);
  begun[0]?.resolve("ran");
  expect(await running).toBe("ran");
  await drained;
  expect(queue.depth).toBe(0);
});
