/** Embeds closets when no drawer waits for a vector, and sends them to the public palace through their own outbox. */
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
  driver: PalaceDriver | undefined;
  /** Returns the reason why no closet may be sent at present. */
  lockedBy: () => PalaceError | undefined;
  /** The next three functions call the ledger's writer. */
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

  /** Embeds and sends waiting closets in the background. Call it after closets were written or drawers got their vectors. */
  wake(): void {
    this.#backlog?.wake();
    this.#send();
  }

  embedWith(embedder: Embedder): void {
    const { reader, file, log } = this.#options;
    this.#backlog = new Backlog({
      embedder,
      // Drawers have priority, because searches find drawers and not closets.
      pending: (afterRow, limit) =>
        reader.pendingTexts(0, 1).length > 0 ? [] : reader.closets.pendingTexts(afterRow, limit),
      file: async (vectors, model) => ({ ...NOTHING, closets: await file(vectors, model) }),
      onFiled: () => Promise.resolve(this.#send()),
      log,
    });
  }

  /** Stops sending closets, and resolves after the running batch. The returned function resumes sending. */
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

  /** Starts the outbox only if closets exist, because it needs a second thread and connection. */
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
