/**
 * The embedding model's life in the broker: found on disk, else downloaded, else looked for again now and then; opened;
 * held against the model that the palace was embedded with. Until it is ready the palace works in lexical mode.
 */
import type { ModelConfig } from "../../config/config.ts";
import { downloadModel } from "../../index/embedding/download.ts";
import { type LocalEmbedder, openEmbedder } from "../../index/embedding/embedder.ts";
import { findModel, type ModelFiles, modelIn, rerankerFolder } from "../../index/embedding/model-files.ts";
import type { Log } from "../../platform/log.ts";
import type { Reranker } from "../../port/search.ts";
import { PalaceError } from "../../protocol/errors.ts";
import type { StatusReport } from "../../protocol/spec.ts";

export type ModelState = Pick<StatusReport["search"], "model" | "modelState" | "modelDetail">;
type RerankerState = NonNullable<StatusReport["search"]["reranker"]>;

export type ModelOptions = {
  config: ModelConfig;
  /** Model the palace's vectors were made with, if there are any. */
  recorded: () => string | undefined;
  onReady: (embedder: LocalEmbedder) => void;
  log: Log;
};

export type Model = {
  state(): ModelState;
  embedder(): LocalEmbedder | undefined;
  /** The cross-encoder, which a search does without. */
  reranker(): Reranker | undefined;
  rerankerState(): RerankerState;
  /** Resolves when it is ready, or will not be for now, or after the time. */
  settled(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
};

const LOOK_AGAIN_MS = 10_000;
const DOWNLOAD_AGAIN_MS = 10 * 60_000;
/** onnxruntime's own threads; two cores are what a small machine has. */
const THREADS = 2;

export function startModel({ config, recorded, onReady, log }: ModelOptions): Model {
  let state: ModelState = { model: null, modelState: "loading", modelDetail: "looking for the model" };
  let embedder: LocalEmbedder | undefined;
  let reranker: Reranker | undefined;
  let rerankerState: RerankerState = { state: "off", detail: "the embedding model it runs beside is not ready" };
  let timer: NodeJS.Timeout | undefined;
  let downloadAt = 0;
  const closing = new AbortController();

  const missing = (why: string): void => {
    state = { model: null, modelState: "missing", modelDetail: `${emptyPlace(config)}${why}` };
  };

  const find = async (): Promise<ModelFiles | undefined> => {
    const found = await findModel(config);
    if (found !== undefined) return found;
    if (config.offline) {
      missing("no model on this machine and MEMPALACE_OFFLINE is set; searching by words only");
      return undefined;
    }
    if (Date.now() < downloadAt) return undefined;
    downloadAt = Date.now() + DOWNLOAD_AGAIN_MS;
    state = { model: null, modelState: "downloading", modelDetail: "0 %" };
    try {
      return await downloadModel(config, {
        signal: closing.signal,
        onProgress: ({ receivedBytes, totalBytes }) => {
          const percent = totalBytes > 0 ? Math.floor((100 * receivedBytes) / totalBytes) : 0;
          state = {
            model: null,
            modelState: "downloading",
            modelDetail: `${percent} % of ${Math.round(totalBytes / 1e6)} MB`,
          };
        },
      });
    } catch (error) {
      missing(`the model could not be downloaded (${(error as Error).message}); searching by words only`);
      log.warn("model download failed", { why: String(error) });
      return undefined;
    }
  };

  const open = async (files: ModelFiles): Promise<void> => {
    const { id } = files.identity;
    const before = recorded();
    if (before !== undefined && before !== id) {
      const error = new PalaceError(
        "STORE_MODEL_MISMATCH",
        `this palace was embedded with ${before}, the model found is ${id}`,
        "point MEMPALACE_MODEL_DIR at the palace's own model and run `palace restart`",
      );
      state = { model: id, modelState: "mismatch", modelDetail: `${error.message}; ${error.hint}` };
      log.error("model mismatch", { recorded: before, found: id });
      return;
    }
    state = { model: id, modelState: "loading", modelDetail: files.folder };
    embedder = await openEmbedder(files, { threads: THREADS });
    if (closing.signal.aborted) return void (await embedder.close());
    state = { model: id, modelState: "ready", modelDetail: files.folder };
    log.info("model ready", { model: id, folder: files.folder });
    onReady(embedder);
    await openReranker(embedder);
  };

  /** Looked for once: who puts one there restarts the broker. */
  const openReranker = async (beside: LocalEmbedder): Promise<void> => {
    const folder = rerankerFolder(config);
    const place = await modelIn(folder);
    if (place === undefined) {
      rerankerState = { state: "off", detail: `no cross-encoder in ${folder}` };
      return;
    }
    try {
      reranker = await beside.openReranker(place);
      rerankerState = { state: "ready", detail: folder };
      log.info("cross-encoder ready", { folder });
    } catch (error) {
      rerankerState = { state: "failed", detail: `${folder}: ${(error as Error).message}` };
      log.error("cross-encoder failed", { folder, why: String(error) });
    }
  };

  const look = async (): Promise<void> => {
    try {
      const files = await find();
      if (files !== undefined) return await open(files);
    } catch (error) {
      state = {
        model: null,
        modelState: "failed",
        modelDetail: `${(error as Error).message}; searching by words only`,
      };
      log.error("model failed", { why: String(error) });
    }
    if (!closing.signal.aborted) timer = setTimeout(() => void look(), LOOK_AGAIN_MS).unref();
  };
  const looking = look();

  return {
    state: () => state,
    embedder: () => embedder,
    reranker: () => reranker,
    rerankerState: () => rerankerState,
    async settled(timeoutMs) {
      const deadline = Date.now() + timeoutMs;
      while (["loading", "downloading"].includes(state.modelState) && Date.now() < deadline && !closing.signal.aborted)
        await new Promise((resolve) => setTimeout(resolve, 50));
    },
    async close() {
      closing.abort();
      clearTimeout(timer);
      await Promise.race([looking, new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
      await embedder?.close();
      embedder = undefined;
      reranker = undefined;
    },
  };
}

/** Who named a folder, and mistyped it, is told so before anything else. */
function emptyPlace({ dir }: ModelConfig): string {
  return dir === undefined ? "" : `MEMPALACE_MODEL_DIR=${dir} holds no model (tokenizer.json, onnx/model.onnx); `;
}
