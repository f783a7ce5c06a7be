/** Queue of all peers' requests to the child. Only one runs at a time, so a crash of the child leaves only one unknown outcome. */
import { PalaceError } from "../../base/errors.ts";
import { ENGINE_DEPTH_MAX, ENGINE_DEPTH_PEER_MAX, QUEUE_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import type { RequestId } from "../../protocol/spec.ts";
import { shuttingDown } from "../engine.ts";
import { FairQueue } from "../palace/fair-queue.ts";
import { isRefusedResult } from "../../protocol/tools/result.ts";
import type { RequestOptions, Session } from "./session.ts";
import type { Supervisor } from "./supervisor.ts";

export type Call = {
  /** Peer that gets the answer. If another connection repeats the call's idempotency key, that connection gets the answer instead. */
  peerId: number;
  /** The client's own request id, for notifications/cancelled. */
  id: RequestId | null;
  method: string;
  params: Record<string, unknown>;
  isWrite: boolean;
  onProgress: RequestOptions["onProgress"];
};

type Waiting = {
  call: Call;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  isRepeated: boolean;
};

/** Time that a request waits for a child that is starting. */
const READY_MAX_MS = 30_000;

export class RequestQueue {
  readonly #supervisor: Supervisor;
  readonly #timeoutMs: number;
  readonly #waiting = new FairQueue<Waiting>({
    depth: ENGINE_DEPTH_MAX,
    depthPeer: ENGINE_DEPTH_PEER_MAX,
    sizeBytes: QUEUE_SIZE_MAX_BYTES,
    what: "requests",
  });
  /** A read whose child died before it answered. It runs again, before all waiting calls. */
  #again: Waiting | undefined;
  #running: { waiting: Waiting; session: Session } | undefined;
  #overdue: NodeJS.Timeout | undefined;
  #draining = false;
  #idle: PromiseWithResolvers<void> | undefined;
  answeredWrites = 0;
  #refused = 0;

  constructor(supervisor: Supervisor, timeoutMs: number) {
    this.#supervisor = supervisor;
    this.#timeoutMs = timeoutMs;
  }

  get depth(): number {
    return this.#waiting.depth;
  }

  get refused(): number {
    return this.#waiting.refused + this.#refused;
  }

  /** Queues a call. Errors: the child's own; BROKER_BUSY, BROKER_CANCELLED, BROKER_SHUTTING_DOWN, ENGINE_*. */
  submit(call: Call, sizeBytes: number): Promise<unknown> {
    if (this.#draining) throw shuttingDown();
    const { failed } = this.#supervisor;
    if (failed !== undefined) {
      this.#supervisor.wake();
      throw failed;
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push(call.peerId, { call, resolve, reject, isRepeated: false }, sizeBytes);
    this.run();
    return promise;
  }

  /** Sends the next request if the child is free. */
  run(): void {
    if (this.#running !== undefined) return;
    const { session } = this.#supervisor;
    if (session === undefined) return this.#await();
    clearTimeout(this.#overdue);
    this.#overdue = undefined;
    const waiting = this.#again ?? this.#waiting.shift()?.item;
    this.#again = undefined;
    if (waiting === undefined) return this.#idle?.resolve();
    this.#running = { waiting, session };
    void this.#put(waiting, session).finally(() => {
      this.#running = undefined;
      this.run();
    });
  }

  /** Handles a disconnected peer: drops its waiting calls and cancels its running read. A running write may finish. */
  leave(peerId: number): void {
    this.#reject(({ call }) => call.peerId === peerId, cancelled());
    if (this.#running?.waiting.call.peerId === peerId) this.#cancelRunning();
  }

  cancel(peerId: number, id: RequestId): void {
    const isIt = ({ call }: Waiting): boolean => call.peerId === peerId && call.id === id;
    this.#reject(isIt, cancelled());
    if (this.#running !== undefined && isIt(this.#running.waiting)) this.#cancelRunning();
  }

  fail(error: PalaceError): void {
    this.#reject(() => true, error);
  }

  /** Refuses new calls and calls that have not begun; clients repeat them with the next broker. Resolves when nothing runs. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#reject(() => true, shuttingDown());
    if (this.#running === undefined) return;
    this.#idle = Promise.withResolvers();
    await this.#idle.promise;
  }

  async #put(waiting: Waiting, session: Session): Promise<void> {
    const { call, resolve, reject } = waiting;
    const { onProgress } = call;
    try {
      const options = { timeoutMs: this.#timeoutMs, ...(onProgress !== undefined && { onProgress }) };
      const result = await session.request(call.method, call.params, options);
      this.#supervisor.answered();
      if (call.isWrite && isRefusedResult(result)) this.#refused += 1;
      else if (call.isWrite) this.answeredWrites += 1;
      resolve(result);
    } catch (error) {
      if (!(error instanceof PalaceError)) this.#supervisor.answered();
      else if (error.code === "ENGINE_TIMEOUT") this.#supervisor.replace(session, error);
      const isLost = error instanceof PalaceError && error.code === "ENGINE_CALL_LOST";
      const mayRepeat = !call.isWrite && !waiting.isRepeated && !this.#draining;
      if (isLost && mayRepeat && this.#supervisor.failed === undefined) {
        waiting.isRepeated = true;
        this.#again = waiting;
        return;
      }
      reject(error);
    }
  }

  #cancelRunning(): void {
    if (this.#running !== undefined && !this.#running.waiting.call.isWrite) this.#running.session.cancel();
  }

  /** Starts a child for the waiting calls, and fails them if none is ready within READY_MAX_MS. */
  #await(): void {
    if (this.#waiting.depth === 0 && this.#again === undefined) return this.#idle?.resolve();
    this.#supervisor.wake();
    this.#overdue ??= setTimeout(() => {
      this.#overdue = undefined;
      const { lastError } = this.#supervisor;
      this.fail(
        new PalaceError(
          "ENGINE_UNAVAILABLE",
          `the engine is still being started${lastError === undefined ? "" : `; before that: ${lastError.message}`}`,
          "repeat the call in a moment; run `palace status`",
          { retryAfterMs: 1_000 },
        ),
      );
    }, READY_MAX_MS);
  }

  #reject(isIt: (waiting: Waiting) => boolean, error: PalaceError): void {
    for (const { reject } of this.#waiting.take(isIt)) reject(error);
    if (this.#again === undefined || !isIt(this.#again)) return;
    this.#again.reject(error);
    this.#again = undefined;
  }
}

function cancelled(): PalaceError {
  return new PalaceError("BROKER_CANCELLED", "the call was cancelled before it began", "");
}
