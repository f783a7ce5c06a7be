/**
 * What goes on with closets beside the engine's writes: they get their vectors when no drawer waits for one, and go to the
 * public palace by an outbox and a collection of their own, the same pump as the drawers'. Put together by broker/palace/palace.ts.
 */
import { type Backlog, startBacklog } from "../index/embedding/backlog.ts";
import type { SqliteLedgerReader } from "../ledger/read/reader.ts";
import type { Log } from "../platform/log.ts";
import type { Changes, NewVector } from "../port/ledger.ts";
import type { PalaceDriver } from "../port/public-palace.ts";
import type { Embedder } from "../port/search.ts";
import type { PalaceError } from "../protocol/errors.ts";
import type { StatusReport } from "../protocol/spec.ts";
import { type Outbox, startOutbox } from "./outbox.ts";

export type ClosetKeeperOptions = {
  reader: SqliteLedgerReader;
  /** Undefined: no public palace is kept. */
  driver: PalaceDriver | undefined;
  /** Why nothing may be sent for now. */
  lockedBy: () => PalaceError | undefined;
  /** The writer's side; see ledger/write/closet-writer.ts. */
  file: (vectors: NewVector[], model: string) => Promise<number>;
  done: (entries: { id: string; seq: number }[]) => Promise<void>;
  retarget: (target: string) => Promise<void>;
  log: Log;
};

export type ClosetKeeper = {
  /** Closets were written, or drawers got their vectors. Cheap. */
  wake(): void;
  /** The model is there. */
  embedWith(embedder: Embedder): void;
  /** As Outbox.hold. */
  hold(): Promise<() => void>;
  status(): StatusReport["closets"];
  stop(): Promise<void>;
};

const NOTHING: Changes = { added: 0, written: [], removed: [], graph: 0, closets: 0 };

export function startClosetKeeper(options: ClosetKeeperOptions): ClosetKeeper {
  const { reader, driver, lockedBy, file, done, retarget, log } = options;
  const { closets } = reader;
  let backlog: Backlog | undefined;
  let outbox: Outbox | undefined;
  let holders = 0;
  let stopped = false;

  /** Many a palace has no closets: no thread and no connection for those. */
  const send = (): void => {
    if (driver === undefined || stopped || holders > 0) return;
    if (outbox !== undefined) return outbox.wake();
    if (!closets.isAny()) return;
    outbox = startOutbox({
      driver,
      log,
      lockedBy,
      onState: ({ state, detail }) => log.info("public palace, closets", { state, detail }),
      source: {
        peek: (limit) => closets.outboxEntries(limit),
        done: (entries) => done([...entries]),
        lag: () => closets.outboxLag(),
        retarget,
      },
    });
  };
  send();

  return {
    wake() {
      backlog?.wake();
      send();
    },
    embedWith(embedder) {
      backlog = startBacklog({
        embedder,
        // Drawers are what is searched; pointers to them can wait.
        pending: (afterRow, limit) =>
          reader.pendingTexts(0, 1).length > 0 ? [] : closets.pendingTexts(afterRow, limit),
        file: async (vectors, model) => ({ ...NOTHING, closets: await file(vectors, model) }),
        onFiled: () => Promise.resolve(send()),
        log,
      });
    },
    async hold() {
      holders += 1;
      const release = await outbox?.hold();
      return () => {
        holders -= 1;
        release?.();
        send();
      };
    },
    status() {
      const pending = closets.pendingCount();
      const { entries } = driver === undefined ? { entries: 0 } : closets.outboxLag();
      return { count: closets.count(), pending, lag: entries + (driver === undefined ? 0 : pending) };
    },
    async stop() {
      stopped = true;
      await Promise.all([backlog?.stop(), outbox?.stop()]);
      if (outbox === undefined) await driver?.close();
    },
  };
}
