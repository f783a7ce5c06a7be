/** The coordination log: its thread, a bounded queue of writes, and waiting calls. The first use starts the thread. */
import { arch, hostname, release, type } from "node:os";
import { waited, waitTimeout } from "../../mempalace/events/events.ts";
import type { LogRead } from "../../mempalace/events/log-tools.ts";
import { type Machine, meshPeers } from "../../mempalace/events/mesh.ts";
import { InvalidValue } from "../../memory/text/validate.ts";
import type { LogPaths } from "../../mempalace/logstream/log-file.ts";
import type { Log } from "../../base/log.ts";
import { startThread, type Thread, threadFile } from "../../base/thread.ts";
import type { WriteCall, WriteOutcome } from "../../memory/port/ledger.ts";
import { PalaceError, unavailable } from "../../base/errors.ts";
import { EventWaits } from "./event-waits.ts";
import type { LogMethods, LogThreadData } from "./logstream-thread.ts";
import { endIfGone, NO_CHANGES, refuseAll, WriteQueue } from "./write-queue.ts";

type Values = Record<string, unknown>;

export type LogstreamOptions = {
  paths: LogPaths;
  /** Folder where MemPalace's servers publish their state. */
  serversDir: string;
  /** Time for which idempotency keys are kept, ms. */
  keptMs: number;
  fault: string | undefined;
  log: Log;
  /** Called when the log's file or the palace is lost: the broker must end. */
  onFatal: (error: PalaceError) => void;
};

export class Logstream {
  readonly #options: LogstreamOptions;
  readonly #waits = new EventWaits(() => this.#call("version"));
  #thread: Promise<Thread<LogMethods>> | undefined;
  readonly queue: WriteQueue;

  constructor(options: LogstreamOptions) {
    this.#options = options;
    this.queue = new WriteQueue({
      commit: async (calls) => ({ outcomes: await this.#commit(calls), changes: NO_CHANGES }),
      onCommit: () => this.#waits.wake(),
    });
  }

  read(method: LogRead, values: Values): Promise<unknown> {
    return this.#call("read", method, values);
  }

  async mesh(machine: Pick<Machine, "drawers" | "embedder">): Promise<unknown> {
    const about = { name: hostname(), hardware: `${type()}-${release()}-${arch()}`, ...machine };
    return meshPeers(await this.#call("replicaState"), about, Date.now());
  }

  /** Resolves when a matching event exists or the time is over. Errors: BROKER_BUSY, BROKER_SHUTTING_DOWN, the signal's reason. */
  async wait(peerId: number, values: Values, signal: AbortSignal): Promise<unknown> {
    let timeoutMs: number;
    try {
      timeoutMs = waitTimeout(values);
    } catch (error) {
      if (error instanceof InvalidValue) return { error: error.message };
      throw error;
    }
    using wait = this.#waits.begin(peerId, timeoutMs, signal);
    for (let seenSeq = 0; ;) {
      const before = wait.mark();
      const sighting = await this.#call("look", values, seenSeq);
      if ("answer" in sighting) return sighting.answer;
      seenSeq = sighting.lastSeq;
      if (!(await wait.change(before))) return waited(values, { events: [], more: false });
    }
  }

  /** Checks that the log's files still exist, if the thread runs; does not start it. Errors: PALACE_GONE, STORE_*. */
  async assertPresent(): Promise<void> {
    const thread = await this.#thread?.catch(() => undefined);
    await thread?.call("assertPresent");
  }

  leave(peerId: number): void {
    this.#waits.leave(peerId);
  }

  endWaits(): void {
    this.#waits.end();
  }

  async close(): Promise<void> {
    this.#waits.end();
    await this.queue.drain();
    const thread = await this.#thread?.catch(() => undefined);
    await thread?.call("close").catch(() => {});
    await thread?.close();
  }

  async #commit(calls: WriteCall[]): Promise<WriteOutcome[]> {
    try {
      return await this.#call("commit", calls);
    } catch (error) {
      // Refuses all calls: if the file could not be opened, no event is stored; if the thread ended, clients repeat the calls by key.
      const known =
        error instanceof PalaceError
          ? error
          : unavailable("the coordination log does not answer", "run `palace logs`", error);
      this.#options.log.error("the coordination log was not written", { code: known.code, why: known.message });
      endIfGone(known, { ledgerFile: this.#options.paths.ledgerFile, onFatal: this.#options.onFatal });
      return refuseAll(calls, known);
    }
  }

  async #call<K extends keyof LogMethods & string>(
    method: K,
    ...args: Parameters<LogMethods[K]>
  ): Promise<Awaited<ReturnType<LogMethods[K]>>> {
    const { log, onFatal: _, ...data } = this.#options;
    const starting = (this.#thread ??= startThread<LogMethods>(
      threadFile(import.meta.url, "logstream-thread"),
      data satisfies LogThreadData,
    ));
    try {
      return await (await starting).call(method, ...args);
    } catch (error) {
      // The next call restarts a thread that ended by itself.
      if (error instanceof PalaceError && error.message.includes("thread ended") && this.#thread === starting) {
        log.error("the coordination log's thread ended", { why: String(error.cause) });
        this.#thread = undefined;
      }
      throw error;
    }
  }
}
