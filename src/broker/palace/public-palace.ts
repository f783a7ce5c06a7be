/** Connects the broker with the public palace: drivers, outboxes and the reconciler. Without a driver it only adopts rows. */
import type { Config } from "../../config/config.ts";
import { invariant } from "../../base/invariant.ts";
import type { Log } from "../../base/log.ts";
import type { Changes } from "../../memory/port/ledger.ts";
import { PalaceError } from "../../base/errors.ts";
import type { AdoptionReport, StatusReport } from "../../protocol/spec.ts";
import { createAdopter } from "../../mempalace/adopt/adoption.ts";
import { modelOf } from "../../mempalace/adopt/model-of.ts";
import { ClosetKeeper } from "../../mempalace/closet-pump.ts";
import { CLOSETS, mayHold } from "../../mempalace/format/chroma-file.ts";
import { type Outbox, startOutbox } from "../../mempalace/outbox.ts";
import { type AdoptionWait, waitForAdoption } from "../../mempalace/reconcile/adoption-wait.ts";
import { CountedDriver } from "../../mempalace/reconcile/counted-driver.ts";
import { startWatch, type Watch } from "../../mempalace/reconcile/reconciler.ts";
import type { OpenIndexes } from "./indexes.ts";
import type { OpenLedger } from "./ledger.ts";
import type { UpstreamLock } from "./upstream-lock.ts";
import type { Wakes } from "./wake-up-calls.ts";
import type { SqliteLedgerReader } from "../../memory/ledger/read/reader.ts";
import { createChromaDriver } from "../../mempalace/driver/chroma.ts";
import { createFilesDriver } from "../../mempalace/driver/files.ts";

export type PublicPalaceOptions = {
  config: Config;
  log: Log;
  ledger: OpenLedger;
  /** While another process holds this lock, the broker does not write the public palace. */
  upstreamLock: Omit<UpstreamLock, "release">;
  wakes: Wakes;
};

/** Maximum time to wait for a local model. The broker does not wait for a download. */
const MODEL_WAIT_MAX_MS = 10_000;
const NO_CHANGES: Changes = { added: 0, written: [], removed: [], graph: 0, closets: 0 };

export class PublicPalace {
  readonly driver: CountedDriver | undefined;
  readonly #options: PublicPalaceOptions;
  #outbox: Outbox | undefined;
  #closets: ClosetKeeper | undefined;
  #watch: Watch | undefined;
  #adoptionWait: AdoptionWait | undefined;

  constructor(options: PublicPalaceOptions) {
    this.#options = options;
    this.driver = openDriver(options.config, options.log, () => this.watch.isSettled());
  }

  /** Starts to send rows to the palace and to look for foreign writes. `closing` collects what must be closed at the end. */
  start(indexes: OpenIndexes, closing: AsyncDisposableStack): void {
    const { config, ledger, wakes } = this.#options;
    const watch = this.#startWatch(indexes);
    this.#watch = watch;
    this.#outbox = this.#startOutbox();
    this.#closets = this.#startClosets();
    closing.defer(async () => {
      // Ends the model, too, because a running adoption may wait for it.
      await Promise.all([this.#outbox?.stop(), this.#closets?.stop(), indexes.endModel()]);
      await watch.stop();
    });
    this.#adoptionWait = waitForAdoption(config.paths.palaceDir, ledger.reader.meta("palace_seen"), watch);
    wakes.on("outbox", () => this.#outbox?.wake());
    wakes.on("closets", () => this.#closets?.wake());
    void indexes.embedder.then((embedder) => this.#closets?.embedWith(embedder.backlog));
    void watch.look();
  }

  get watch(): Watch {
    return started(this.#watch);
  }

  get adoptionWait(): AdoptionWait {
    return started(this.#adoptionWait);
  }

  /** Returns why the broker may not write the palace now; undefined if it may. */
  lockedBy(): PalaceError | undefined {
    const { config, ledger, upstreamLock } = this.#options;
    const error = upstreamLock.lockedBy();
    // The lock of a MemPalace in the palace's folder does not concern a Chroma server elsewhere.
    if (error !== undefined && mayHold(config.paths.palaceDir, writtenCollection(ledger.reader))) return error;
    // Foreign rows are adopted before anything is written.
    return this.driver?.collectionId === undefined || this.watch.isSettled() ? undefined : this.adopting();
  }

  adopting(): PalaceError {
    return adoptionError(this.watch.adoption());
  }

  /** Stops sending to the public palace. Sending continues when the caller calls the returned function. */
  async hold(): Promise<() => void> {
    const releases = [await this.#outbox?.hold(), await this.#closets?.hold()];
    return () => releases.forEach((release) => release?.());
  }

  status(): Pick<StatusReport, "driver" | "closets" | "strays" | "adoption"> {
    const off = { state: "off" as const, lag: 0, lagMs: 0, detail: "no public palace is kept" };
    return {
      driver: { kind: this.driver?.kind ?? "none", ...(this.#outbox?.status() ?? off) },
      closets: started(this.#closets).status(),
      strays: this.watch.status(),
      adoption: this.watch.adoption(),
    };
  }

  #startOutbox(): Outbox | undefined {
    const { log, ledger } = this.#options;
    const { reader, writer } = ledger;
    if (this.driver === undefined) return undefined;
    return startOutbox({
      driver: this.driver,
      log,
      lockedBy: () => this.lockedBy(),
      onState: ({ state, detail }) => log.info("public palace", { state, detail }),
      source: {
        peek: (limit) => reader.outbox.entries(limit),
        done: (entries) => writer.call("outboxDone", [...entries]),
        lag: () => reader.outbox.lag(),
        // Each call of `retarget` does a part of the work, so that agents' writes run in between.
        retarget: async (target) => {
          while (await writer.call("retarget", target));
        },
      },
    });
  }

  #startWatch(indexes: OpenIndexes): Watch {
    const { config, log, ledger, upstreamLock, wakes } = this.#options;
    const { reader, writer } = ledger;
    return startWatch({
      palaceDir: config.paths.palaceDir,
      collection: config.collection(),
      ledgerFile: config.paths.ledgerFile,
      driver: this.driver,
      seen: {
        read: () => reader.meta("palace_seen"),
        write: (text) => writer.call("putMeta", "palace_seen", text),
      },
      resend: async (ids) => {
        await writer.call("resend", ids);
        wakes.wake("outbox");
      },
      resendClosets: async (ids) => {
        await writer.call("resendClosets", ids);
        wakes.wake("closets");
      },
      hold: () => this.hold(),
      isLocked: () => upstreamLock.lockedBy() !== undefined,
      adopter: this.#adopter(indexes),
      onSettled: () => wakes.wake("outbox", "closets"),
      guess: (recent) => guessWriter(recent, upstreamLock),
      log,
    });
  }

  #adopter({ model, vectors }: OpenIndexes): ReturnType<typeof createAdopter> {
    const { config, log, ledger, wakes } = this.#options;
    const { reader, writer } = ledger;
    const { palaceDir, ledgerFile } = config.paths;
    return createAdopter({
      palaceDir,
      ledgerFile,
      file: async (batch, kind) => {
        if (kind === "drawers") return writer.call("adopt", batch);
        const taken = await writer.call("adoptClosets", batch);
        return { taken, changes: { ...NO_CHANGES, closets: taken } };
      },
      onFiled: async (changes) => {
        await vectors.refresh(changes);
        wakes.wake("backlog", "closets", "upkeep");
      },
      setRecipe: (recipe) => writer.call("putMeta", "id_recipe", recipe),
      modelOf: async (samples) => {
        await model.ready(MODEL_WAIT_MAX_MS);
        const place = { palaceDir, collection: config.collection() };
        return modelOf(samples, { ...place, recorded: reader.meta("model"), embedder: model.embedder?.backlog });
      },
      log,
    });
  }

  #startClosets(): ClosetKeeper {
    const { config, log, ledger } = this.#options;
    const { reader, writer } = ledger;
    return new ClosetKeeper({
      reader,
      driver: this.driver && openDriver(config, log, () => this.watch.isSettled(), this.driver),
      // Closets wait for the drawers' driver, which finds out whether the palace must still be adopted.
      lockedBy: () => (this.driver?.collectionId === undefined ? this.adopting() : this.lockedBy()),
      file: (pending, id) => writer.call("storeClosetVectors", pending, id),
      done: (entries) => writer.call("closetsDone", entries),
      retarget: async (target) => {
        while (await writer.call("retargetClosets", target));
      },
      log,
    });
  }
}

function started<T>(part: T | undefined): T {
  invariant(part !== undefined, "the public palace is asked before it is started");
  return part;
}

/** Opens the driver of the drawers; with `beside`, the driver of the closets. */
function openDriver(
  config: Config,
  log: Log,
  mayMend: () => boolean,
  beside?: CountedDriver,
): CountedDriver | undefined {
  const { chroma, paths, fault } = config;
  const collection = { collection: beside === undefined ? config.collection() : CLOSETS };
  switch (config.driver) {
    case "none":
      return undefined;
    case "chroma":
      return new CountedDriver(createChromaDriver({ chroma, log, ...collection }), beside);
    case "files":
      return new CountedDriver(
        createFilesDriver({ palaceDir: paths.palaceDir, log, fault, mayMend, ...collection }),
        beside,
      );
  }
}

function adoptionError({ state, read, rows, detail, hint }: AdoptionReport): PalaceError {
  if (state === "refused")
    return new PalaceError(
      "PALACE_LOCKED",
      `the public palace cannot be compared with this memory: ${detail}; ${hint}`,
      "",
    );
  const far = rows === 0 ? "" : `, ${read} of ${rows} rows so far`;
  return new PalaceError("PALACE_LOCKED", `the public palace is read-only until its own rows are adopted${far}`, "");
}

/** Returns the id of the collection that a driver of this or an earlier broker wrote. The name of the driver's target contains the id. */
function writtenCollection(reader: SqliteLedgerReader): string | undefined {
  const id = (reader.meta("driver_target") ?? "").split("#").at(-1);
  return id === "" ? undefined : id;
}

/** Guesses who wrote foreign rows: a MemPalace that our lock cannot keep out, or the previous holder of MemPalace's lock. */
function guessWriter(recent: boolean, lock: Pick<UpstreamLock, "status" | "formerHolder">): string {
  if (recent && lock.status().state === "held")
    return "a MemPalace that our lock cannot reach: of another HOME, or one that sees the palace at another mount point";
  const former = lock.formerHolder();
  return former === "" ? "a MemPalace, before this broker" : `a MemPalace, perhaps ${former}`;
}
