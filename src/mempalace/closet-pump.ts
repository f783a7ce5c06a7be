/**
 * Keeps closets in step beside the engine's writes: they get their vectors when no drawer waits for one, and go to the
 * public palace through an outbox and a collection of their own, as drawers do. Put together by
 * broker/palace/palace.ts.
 */
import { Backlog } from "../memory/index/embedding/backlog.ts";
import type { SqliteLedgerReader } from "../memory/ledger/read/reader.ts";
import type { Log } from "../base/log.ts";
import type { Changes, NewVector } from "../memory/port/ledger.ts";
import type { PalaceDriver } from "../memory/port/public-palace.ts";
import type { Embedder } from "../memory/port/search.ts";
import type { PalaceError } from "../base/errors.ts";
import type { StatusReport } from "../protocol/spec.ts";
import { type Outbox, startOutbox } from "./outbox.ts";

export type ClosetKeeperOptions = {
  reader: SqliteLedgerReader;
  /** Undefined: no public palace is kept. */
  driver: PalaceDriver | undefined;
  /** The reason why nothing may be sent now. */
  lockedBy: () => PalaceError | undefined;
  /** The writer's side; see memory/ledger/write/closet-writer.ts. */
  file: (vectors: NewVector[], model: string) => Promise<number>;
  done: (entries: { id: string; seq: number }[]) => Promise<void>;
  retarget: (target: string) => Promise<void>;
  log: Log;
};

const NOTHING: Changes = { added: 0, written: [], removed: [], graph: 0, closets: 0 };

export class ClosetKeeper {
  readonly #options: ClosetKeeperOptions;
  #backlog: Backlog | undefined;
  #outbox: Outbox | undefined;
  #holders = 0;
  #stopped = false;

  constructor(options: ClosetKeeperOptions) {
    this.#options = options;
    this.#send();
  }

  /** Closets were written, or drawers got their vectors. Cheap. */
  wake(): void {
    this.#backlog?.wake();
    this.#send();
  }

  /** Starts embedding once the model is loaded. */
  embedWith(embedder: Embedder): void {
    const { reader, file, log } = this.#options;
    this.#backlog = new Backlog({
      embedder,
      // Drawers are what is searched; closets can wait.
      pending: (afterRow, limit) =>
        reader.pendingTexts(0, 1).length > 0 ? [] : reader.closets.pendingTexts(afterRow, limit),
      file: async (vectors, model) => ({ ...NOTHING, closets: await file(vectors, model) }),
      onFiled: () => Promise.resolve(this.#send()),
      log,
    });
  }

  /** Works as Outbox.hold. */
  async hold(): Promise<() => void> {
    this.#holders += 1;
    const release = await this.#outbox?.hold();
    return () => {
      this.#holders -= 1;
      release?.();
      this.#send();
    };
  }

  status(): StatusReport["closets"] {
    const { reader, driver } = this.#options;
    const { entries, awaitingVector: pending } = reader.closets.outbox.lag();
    return { count: reader.closets.count(), pending, lag: driver === undefined ? 0 : entries + pending };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([this.#backlog?.stop(), this.#outbox?.stop()]);
    if (this.#outbox === undefined) await this.#options.driver?.close();
  }

  /** A palace without closets needs no thread and no connection for them. */
  #send(): void {
    const { driver, lockedBy, done, retarget, log, reader } = this.#options;
    if (driver === undefined || this.#stopped || this.#holders > 0) return;
    if (this.#outbox !== undefined) return this.#outbox.wake();
    if (!reader.closets.isAny()) return;
    this.#outbox = startOutbox({
      driver,
      log,
      lockedBy,
      onState: ({ state, detail }) => log.info("public palace, closets", { state, detail }),
      source: {
        peek: (limit) => reader.closets.outbox.entries(limit),
        done: (entries) => done([...entries]),
        lag: () => reader.closets.outbox.lag(),
        retarget,
      },
    });
  }
}
