/** Turns texts into vectors with the model, which runs on a thread of its own. */
import { startThread, type Thread, threadFile } from "../../../base/thread.ts";
import { within } from "../../../base/time-limit.ts";
import type { Embedder, ModelIdentity, Reranker } from "../../port/search.ts";
import { unavailable } from "../../../base/errors.ts";
import type { EmbedMethods, EmbedThreadData } from "./embed-thread.ts";
import type { Lane } from "./batch-lanes.ts";
import type { ModelFiles, ModelPlace } from "./model-files.ts";
import { RUNTIME } from "../../../base/onnxruntime.ts";

/** Number of cached query vectors, 1.5 KB each. */
const QUERY_CACHE_MAX = 512;
/** Maximum number of waiting texts of questions, and also of the backlog (whose pages are far smaller). Further texts are refused. */
const WAITING_MAX = 4096;

/** The embedder for searches. `backlog`: the same model with the lowest priority, for all texts that are not questions. */
export type LocalEmbedder = Embedder & {
  readonly backlog: Embedder;
  /** Loads a cross-encoder on the same thread. Throws if loading fails; the embedder then continues without it. */
  openReranker(place: ModelPlace): Promise<Reranker>;
};

/** Maximum number of searches that wait for the reranker. Further searches skip reranking. */
const RERANKS_MAX = 4;

/** Maximum time to wait for the running batch at close, ms. A batch of long texts on a slow machine takes about a second. */
const CLOSE_MAX_MS = 5_000;

/** `runtime`: file of onnxruntime-node; by default the installed package. */
export type EmbedderOptions = { threads: number; runtime?: string | undefined };

/** Opens the embedder. Errors: STORE_UNAVAILABLE if the runtime or the model does not load. */
export async function openEmbedder(
  files: ModelFiles,
  { threads, runtime = RUNTIME }: EmbedderOptions,
): Promise<LocalEmbedder> {
  const { identity, folder, modelFile } = files;
  const data: EmbedThreadData = { folder, modelFile, runtime, threads, dimensions: identity.dimensions };
  const thread = await startThread<EmbedMethods>(threadFile(import.meta.url, "embed-thread"), data);
  const lane = (name: Lane): Embedder => laneEmbedder(thread, identity, name);
  const search = cachedEmbedder(lane("query"));
  const openReranker = async (place: ModelPlace): Promise<Reranker> => {
    await thread.call("openReranker", place);
    return threadReranker(thread);
  };
  return { ...search, backlog: lane("backlog"), openReranker };
}

function threadReranker(thread: Thread<EmbedMethods>): Reranker {
  let waiting = 0;
  return {
    async rerank(question, texts, timeoutMs) {
      if (waiting >= RERANKS_MAX) throw unavailable("too many searches wait to be reranked", "try again in a moment");
      waiting += 1;
      // A timed-out search counts as waiting until the thread drops it, so that such searches do not pile up on a slow machine.
      const work = thread.call("rerank", question, texts, timeoutMs).finally(() => (waiting -= 1));
      const scores = await within(work, timeoutMs);
      if (scores === undefined) throw unavailable("not reranked in time", "try again in a moment");
      return scores;
    },
  };
}

function laneEmbedder(thread: Thread<EmbedMethods>, identity: ModelIdentity, lane: Lane): Embedder {
  let waiting = 0;
  return {
    identity,
    async embed(texts) {
      if (waiting + texts.length > WAITING_MAX)
        throw unavailable("too many texts wait to be embedded", "try again in a moment");
      waiting += texts.length;
      try {
        return await thread.call("embed", texts, lane);
      } finally {
        waiting -= texts.length;
      }
    },
    async close() {
      const closed = thread.call("close").catch(() => {});
      await within(closed, CLOSE_MAX_MS);
      await thread.close();
    },
  };
}

/** Caches the vectors of the last texts. A hit becomes the newest entry. */
function cachedEmbedder(embedder: Embedder): Embedder {
  const cache = new Map<string, Float32Array>();
  const remember = (text: string, vector: Float32Array): void => {
    cache.delete(text);
    cache.set(text, vector);
    if (cache.size > QUERY_CACHE_MAX) cache.delete(cache.keys().next().value as string);
  };
  return {
    ...embedder,
    async embed(texts) {
      const found = new Map<string, Float32Array>();
      for (const text of texts) {
        const known = cache.get(text);
        if (known !== undefined) found.set(text, known);
      }
      const missing = [...new Set(texts)].filter((text) => !found.has(text));
      const vectors = missing.length === 0 ? [] : await embedder.embed(missing);
      missing.forEach((text, at) => found.set(text, vectors[at] as Float32Array));
      for (const [text, vector] of found) remember(text, vector);
      // A caller may transfer its vector to a thread, so each caller gets a copy.
      return texts.map((text) => (found.get(text) as Float32Array).slice());
    },
  };
}
