/** Broker of the simulation: the real queue and ledger behind simulated sockets. A schedule can kill it. */
import { WriteQueue } from "../../src/broker/palace/write-queue.ts";
import type { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import type { WriteOutcome } from "../../src/memory/port/ledger.ts";
import { PalaceError } from "../../src/base/errors.ts";
import { IDEMPOTENCY_META } from "../../src/protocol/headers.ts";
import { RPC } from "../../src/protocol/spec.ts";
import { FrameSplitter } from "../../src/wire/transport/frame.ts";
import { type LinkedSocket, linkedPair, type Scheduler } from "./world.ts";

type Request = {
  id: string | number;
  method: string;
  params?: { name: string; arguments: Record<string, unknown>; _meta: Record<string, string> };
};

export class SimulatedBroker {
  readonly #scheduler: Scheduler;
  readonly #ledger: LedgerWriter;
  readonly #queue: WriteQueue;
  readonly #sockets = new Set<LinkedSocket>();
  isAlive = true;
  /** True while commits fail as with a full disk. */
  isFull = false;
  isDraining = false;
  #peers = 0;

  constructor(scheduler: Scheduler, ledger: LedgerWriter) {
    this.#scheduler = scheduler;
    this.#ledger = ledger;
    this.#queue = new WriteQueue({
      commit: async (calls) => {
        await this.#later(0.2, 4);
        // A kill before the commit leaves the ledger unchanged, and no answer is sent.
        if (!this.isAlive) return new Promise(() => {});
        const done = this.#ledger.commit(calls);
        await this.#later(0, 2);
        return this.isAlive ? done : new Promise(() => {});
      },
      onCommit: () => {},
    });
  }

  accept(isCut: () => boolean): LinkedSocket {
    const [client, server] = linkedPair(this.#scheduler, isCut);
    const splitter = new FrameSplitter();
    const peer = ++this.#peers;
    this.#sockets.add(server);
    server.on("data", (bytes: Buffer) => {
      for (const frame of splitter.push(bytes)) {
        if ("bytes" in frame) void this.#answer(server, peer, JSON.parse(frame.bytes.toString()) as Request);
      }
    });
    server.on("close", () => this.#sockets.delete(server));
    server.resume();
    return client;
  }

  /** Simulates SIGKILL. A running commit may still happen, but no answer is sent. */
  kill(): void {
    this.isAlive = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  #later(from: number, to: number): Promise<void> {
    return new Promise((resolve) => void this.#scheduler.after(this.#scheduler.between(from, to), resolve));
  }

  async #answer(socket: LinkedSocket, peer: number, request: Request): Promise<void> {
    const { id, method, params } = request;
    const say = (body: object): void => {
      if (this.isAlive) socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
    };
    if (method === "ping") return say({ result: {} });
    try {
      if (this.isDraining) throw new PalaceError("BROKER_SHUTTING_DOWN", "ending", "", { retryAfterMs: 20 });
      if (this.isFull) throw new PalaceError("STORE_DISK_FULL", "the disk is full", "");
      if (this.#scheduler.random() < 0.03) throw new PalaceError("BROKER_BUSY", "busy", "", { retryAfterMs: 30 });
      const call = {
        key: params?._meta[IDEMPOTENCY_META] ?? "",
        isRepeatable: true,
        method: (params?.name ?? "").replace("mempalace_", ""),
        params: params?.arguments ?? {},
        peer: { agent: "simulated", door: "unix", uid: 0, pid: 1 },
        requestId: "simulated",
        atMs: 1,
      };
      const { outcome }: WriteOutcome = await this.#queue.submit(peer, call, 100);
      if (outcome.ok) say({ result: { content: [{ type: "text", text: JSON.stringify(outcome.value) }] } });
      else say({ error: outcome.error });
    } catch (error) {
      if (!(error instanceof PalaceError)) throw error;
      say({ error: { code: RPC.SERVER_ERROR, message: error.message, data: error.toWire() } });
    }
  }
}
