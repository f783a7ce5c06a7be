/** Finds or downloads the embedding model. Until the model is ready, searches use words and static vectors. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ModelConfig } from "../../config/config.ts";
import { downloadModel } from "../../memory/index/embedding/download.ts";
import { type LocalEmbedder, openEmbedder } from "../../memory/index/embedding/embedder.ts";
import { findModel, type ModelFiles, modelIn, rerankerFolder } from "../../memory/index/embedding/model-files.ts";
import { findRuntime } from "../../base/onnxruntime.ts";
import type { Log } from "../../base/log.ts";
import type { Reranker } from "../../memory/port/search.ts";
import { PalaceError } from "../../base/errors.ts";
import type { StatusReport } from "../../protocol/spec.ts";

export type ModelState = Pick<StatusReport["search"], "model" | "modelState" | "modelDetail">;
type RerankerState = NonNullable<StatusReport["search"]["reranker"]>;

export type ModelOptions = {
  config: ModelConfig;
  /** Returns the name of the model that made the palace's present vectors, if any. */
  recorded: () => string | undefined;
  onReady: (embedder: LocalEmbedder) => void;
  log: Log;
};

const LOOK_AGAIN_MS = 10_000;
const DOWNLOAD_AGAIN_MS = 10 * 60_000;
const SETTLED_POLL_MS = 50;
const CLOSE_MAX_MS = 1_000;
/** Number of onnxruntime's threads. A small machine has two cores. */
const THREADS = 2;

export class Model {
  readonly #options: ModelOptions;
  readonly #closing = new AbortController();
  readonly #looking: Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #downloadAt = 0;
  #runtime: string | undefined;
  state: ModelState = { model: null, modelState: "loading", modelDetail: "looking for the model" };
  rerankerState: RerankerState = { state: "off", detail: "the embedding model, which it needs, is not ready" };
  embedder: LocalEmbedder | undefined;
  reranker: Reranker | undefined;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#looking = this.#look();
  }

  /** Resolves when the model is ready, when it cannot be opened for now, or after the timeout. */
  async ready(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    const isComing = (): boolean => ["loading", "downloading"].includes(this.state.modelState);
    while (isComing() && performance.now() < deadline && !this.#closing.signal.aborted) await sleep(SETTLED_POLL_MS);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await Promise.race([this.#looking, sleep(CLOSE_MAX_MS, undefined, { ref: false })]);
    await this.embedder?.close();
    this.embedder = undefined;
    this.reranker = undefined;
  }

  async #look(): Promise<void> {
    try {
      const files = await this.#find();
      if (files !== undefined) return await this.#open(files);
    } catch (error) {
      const modelDetail = `${(error as Error).message}; searching without it`;
      this.state = { model: null, modelState: "failed", modelDetail };
      this.#options.log.error("model failed", { why: String(error) });
    }
    if (!this.#closing.signal.aborted) this.#timer = setTimeout(() => void this.#look(), LOOK_AGAIN_MS).unref();
  }

  async #find(): Promise<ModelFiles | undefined> {
    const { config } = this.#options;
    this.#runtime = findRuntime(config.cacheDir);
    if (this.#runtime === undefined) return this.#withoutRuntime();
    const found = await findModel(config);
    if (found !== undefined) return found;
    if (config.offline)
      return this.#missing(
        "no model on this machine, and the setting offline forbids the download; searching without it",
      );
    if (performance.now() < this.#downloadAt) return undefined;
    this.#downloadAt = performance.now() + DOWNLOAD_AGAIN_MS;
    return this.#download();
  }

  async #download(): Promise<ModelFiles | undefined> {
    const { config, log } = this.#options;
    const say = (modelDetail: string): void => {
      this.state = { model: null, modelState: "downloading", modelDetail };
    };
    say("0 %");
    try {
      return await downloadModel(config, {
        signal: this.#closing.signal,
        onProgress: ({ receivedBytes, totalBytes }) => {
          const percent = totalBytes > 0 ? Math.floor((100 * receivedBytes) / totalBytes) : 0;
          say(`${percent} % of ${Math.round(totalBytes / 1e6)} MB`);
        },
      });
    } catch (error) {
      log.warn("model download failed", { why: String(error) });
      return this.#missing(`the model could not be downloaded (${(error as Error).message}); searching without it`);
    }
  }

  /** A missing runtime is a fault only if the palace has the model's vectors or the user named a model's folder. */
  #withoutRuntime(): undefined {
    const { config, recorded } = this.#options;
    this.state =
      config.dir === undefined && recorded() === undefined
        ? { model: null, modelState: "extra", modelDetail: "palace model get adds MiniLM" }
        : {
            model: null,
            modelState: "missing",
            modelDetail: "the model's runtime is not installed; searching without it",
          };
  }

  #missing(why: string): undefined {
    const modelDetail = `${emptyPlace(this.#options.config)}${why}`;
    this.state = { model: null, modelState: "missing", modelDetail };
  }

  async #open(files: ModelFiles): Promise<void> {
    const { recorded, onReady, log } = this.#options;
    const { id } = files.identity;
    const before = recorded();
    if (before !== undefined && before !== id) return this.#mismatch(before, id);
    this.state = { model: id, modelState: "loading", modelDetail: files.folder };
    const embedder = await openEmbedder(files, { threads: THREADS, runtime: this.#runtime });
    this.embedder = embedder;
    if (this.#closing.signal.aborted) return void (await embedder.close());
    this.state = { model: id, modelState: "ready", modelDetail: files.folder };
    log.info("model ready", { model: id, folder: files.folder });
    onReady(embedder);
    await this.#openReranker(embedder);
  }

  #mismatch(recorded: string, found: string): void {
    const error = new PalaceError(
      "STORE_MODEL_MISMATCH",
      `this palace was embedded with ${recorded}, the model found is ${found}`,
      "palace config set model-dir DIR, the palace's own model; then palace restart",
    );
    this.state = { model: found, modelState: "mismatch", modelDetail: `${error.message}; ${error.hint}` };
    this.#options.log.error("model mismatch", { recorded, found });
  }

  /** Looks for the cross-encoder once. A cross-encoder that is installed later needs a restart of the broker. */
  async #openReranker(beside: LocalEmbedder): Promise<void> {
    const { config, log } = this.#options;
    const folder = rerankerFolder(config);
    const place = await modelIn(folder);
    if (place === undefined) {
      this.rerankerState = { state: "off", detail: `no cross-encoder in ${folder}` };
      return;
    }
    try {
      this.reranker = await beside.openReranker(place);
      this.rerankerState = { state: "ready", detail: folder };
      log.info("cross-encoder ready", { folder });
    } catch (error) {
      this.rerankerState = { state: "failed", detail: `${folder}: ${(error as Error).message}` };
      log.error("cross-encoder failed", { folder, why: String(error) });
    }
  }
}

/** Returns the beginning of a message, which says that the user's model folder has no model; "" if the user named no folder. */
function emptyPlace({ dir }: ModelConfig): string {
  return dir === undefined ? "" : `model-dir ${dir} contains no model (tokenizer.json, onnx/model.onnx); `;
}
