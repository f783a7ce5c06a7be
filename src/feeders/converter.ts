/** Reads office documents in a worker thread, which it replaces if a document takes too long or too much memory. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Document, Unread } from "./doc-miner/survey.ts";
import { PASSING } from "./format-miner/outcome.ts";
import type { Job, Reply } from "./format-miner/worker.ts";

export type ConverterLimits = {
  /** Maximum size of a file, bytes. */
  sizeMax: number;
  /** Maximum length of a document's text, characters. */
  textMax: number;
  timeMaxMs: number;
  memoryMaxMebibytes: number;
};

/** Default limits. `sizeMax` is as in upstream. A book of a thousand pages takes about ten seconds. */
export const CONVERSION: Omit<ConverterLimits, "textMax"> = {
  sizeMax: 500 * 1024 ** 2,
  timeMaxMs: 120_000,
  memoryMaxMebibytes: 1536,
};

export class Converter {
  readonly #limits: ConverterLimits;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(limits: ConverterLimits) {
    this.#limits = limits;
  }

  /** Returns an `Unread` if the file is bad or the thread ends; never throws. */
  read(path: string): Promise<Document | Unread> {
    const reading = this.#last.then(() => this.#read(path));
    this.#last = reading.catch(() => {});
    return reading;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #read(path: string): Promise<Document | Unread> {
    const { sizeMax, textMax } = this.#limits;
    const reply = await this.#ask({ path, sizeMax, textMax });
    if (reply.outcome !== "ok")
      return {
        outcome: reply.outcome,
        reason: `${reply.outcome}: ${reply.message}`,
        isPassing: PASSING.has(reply.outcome),
      };
    const { text, sha256, mtime, size } = reply;
    return { text, sha256, mtime, size };
  }

  async #ask(job: Job): Promise<Reply> {
    const { timeMaxMs } = this.#limits;
    const worker = this.#thread();
    const { promise, resolve } = Promise.withResolvers<Reply>();
    let isBroken = false;
    const failed = (message: string): void => {
      isBroken = true;
      resolve({ outcome: "extraction_error", message });
    };
    const onError = (error: NodeJS.ErrnoException): void =>
      failed(
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? "needs more memory than the limit for a document"
          : `cannot be converted: ${error.message}`,
      );
    const onExit = (): void => failed("cannot be converted: its reader ended");
    const timer = setTimeout(() => failed(`is still being converted after ${timeMaxMs / 1000} s`), timeMaxMs);
    worker.once("message", resolve).once("error", onError).once("exit", onExit);
    worker.postMessage(job);
    const reply = await promise;
    clearTimeout(timer);
    worker.off("message", resolve).off("error", onError).off("exit", onExit);
    // Ends the thread after an error: its late answer would count as the answer for the next document.
    if (isBroken) await this.close();
    return reply;
  }

  #thread(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    // This path must also be valid in the bundled executables, so this file must stay in this folder.
    const file = new URL(`./format-miner/worker${extname(import.meta.filename)}`, import.meta.url);
    const worker = new Worker(file, {
      ...{ env: {}, stdout: true, stderr: true },
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMaxMebibytes },
    });
    // Hides what libraries print about a document.
    worker.stdout.resume();
    worker.stderr.resume();
    // After an error outside of a conversion, the next document gets a new thread.
    worker.on("error", () => (this.#worker = this.#worker === worker ? undefined : this.#worker));
    worker.unref();
    this.#worker = worker;
    return worker;
  }
}
