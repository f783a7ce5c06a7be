/** Worker thread that owns the models. Only this thread imports the runtime, so without the runtime only this thread fails. */
import { setTimeout as delay } from "node:timers/promises";
import { workerData } from "node:worker_threads";
import type { InferenceSession, Tensor } from "onnxruntime-node";
import { serveThread } from "../../../base/thread.ts";
import { unavailable } from "../../../base/errors.ts";
import { type Job, type Lane, BatchLanes } from "./batch-lanes.ts";
import type { ModelPlace } from "./model-files.ts";
import { poolVectors } from "./pool.ts";
import { importRuntime, type Runtime } from "../../../base/onnxruntime.ts";
import { openPairTokenizer, openTokenizer, type TokenizePair, type TokenPair } from "./tokenizer.ts";

/** Data for the thread's start. `runtime`: the name or the file of the package onnxruntime-node. */
export type EmbedThreadData = {
  folder: string;
  modelFile: string;
  runtime: string;
  threads: number;
  dimensions: number;
};
export type EmbedMethods = {
  embed(texts: readonly string[], lane: Lane): Promise<Float32Array[]>;
  openReranker(place: ModelPlace): Promise<void>;
  /** Scores how well each text answers the question, higher is better. Fails if a batch has not begun after `timeoutMs`. */
  rerank(question: string, texts: readonly string[], timeoutMs: number): Promise<number[]>;
  /** Waits for the running batch, fails waiting calls and frees the models. Ending the thread during a batch would end the process. */
  close(): Promise<void>;
};

/** A job with its results so far. `run` returns one result for each text of a batch. */
type Running = Job<TokenPair> & {
  run: (batch: TokenPair[]) => Promise<unknown[]>;
  results: unknown[];
  left: number;
  done: PromiseWithResolvers<unknown[]>;
  /** Deadline by the monotonic clock, ms. */
  until: number;
};

type Reranker = { tokenize: TokenizePair; session: InferenceSession };

const OUTPUT = "last_hidden_state";
/** Time after a query during which the backlog runs small batches, ms, because a second search often follows. */
const YIELDING_MS = 3_000;
/** Time after a query during which the backlog pauses, ms, because one of its texts takes longer than a whole search. */
const REST_MS = 100;
/** Maximum pause of the backlog, as a multiple of its last batch's time, so that many searches cannot stop the backlog. */
const REST_MAX_TIMES = 5;

/** Runs the batches of all models one at a time, so that a query can run between two batches of other jobs. */
class ModelRunner {
  readonly #runtime: Runtime;
  readonly #session: InferenceSession;
  readonly #options: InferenceSession.SessionOptions;
  readonly #tokenize: ReturnType<typeof openTokenizer>;
  readonly #dimensions: number;
  readonly #lanes = new BatchLanes<TokenPair>(({ ids }) => ids.length);
  #reranker: Reranker | undefined;
  #working: Promise<void> | undefined;
  #closing = false;
  /** Time of the last query on the monotonic clock. */
  #queriedAt = Number.NEGATIVE_INFINITY;
  /** Latest end of the backlog's pause on the monotonic clock. */
  #restUntil = Number.NEGATIVE_INFINITY;
  #added = Promise.withResolvers<void>();

  constructor(runtime: Runtime, session: InferenceSession, { folder, threads, dimensions }: EmbedThreadData) {
    this.#runtime = runtime;
    this.#session = session;
    this.#options = sessionOptions(threads);
    this.#tokenize = openTokenizer(folder);
    this.#dimensions = dimensions;
  }

  async embed(texts: readonly string[], lane: Lane): Promise<Float32Array[]> {
    if (texts.length === 0) return [];
    if (lane === "query") this.#queriedAt = performance.now();
    const items = texts.map((text) => asPair(this.#tokenize(text)));
    const run = (batch: TokenPair[]): Promise<Float32Array[]> => this.#runModel(batch);
    return (await this.#add({ items, lane, run, until: Number.POSITIVE_INFINITY })) as Float32Array[];
  }

  async openReranker({ folder, modelFile }: ModelPlace): Promise<void> {
    const session = await this.#runtime.InferenceSession.create(modelFile, this.#options);
    this.#reranker = { tokenize: openPairTokenizer(folder), session };
  }

  async rerank(question: string, texts: readonly string[], timeoutMs: number): Promise<number[]> {
    const model = this.#reranker;
    if (model === undefined) throw unavailable("no cross-encoder is open", "palace doctor");
    if (texts.length === 0) return [];
    const items = texts.map((text) => model.tokenize(question, text));
    const run = (batch: TokenPair[]): Promise<number[]> => this.#runReranker(model, batch);
    return (await this.#add({ items, lane: "rerank", run, until: performance.now() + timeoutMs })) as number[];
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#working;
    await this.#session.release();
    await this.#reranker?.session.release();
  }

  async #runModel(batch: TokenPair[]): Promise<Float32Array[]> {
    const lengths = batch.map(({ ids }) => ids.length);
    const sequence = Math.max(...lengths);
    const output = await this.#session.run(modelInputs(this.#runtime.Tensor, this.#session, batch, sequence));
    return poolVectors(output[OUTPUT]?.data as Float32Array, lengths, sequence, this.#dimensions);
  }

  async #runReranker({ session }: Reranker, batch: TokenPair[]): Promise<number[]> {
    const sequence = Math.max(...batch.map(({ ids }) => ids.length));
    const output = await session.run(modelInputs(this.#runtime.Tensor, session, batch, sequence));
    const logits = output[session.outputNames[0] ?? ""]?.data as Float32Array;
    // The model returns one number per pair, or one per class. The last class means "answers the question".
    const width = logits.length / batch.length;
    const scores = batch.map((_, at) => logits[(at + 1) * width - 1] ?? Number.NaN);
    if (scores.every(Number.isFinite)) return scores;
    throw unavailable("the cross-encoder gave no numbers", "palace doctor");
  }

  #add(job: Pick<Running, "items" | "lane" | "run" | "until">): Promise<unknown[]> {
    const done = Promise.withResolvers<unknown[]>();
    const running: Running = { ...job, results: [], left: job.items.length, done };
    this.#lanes.add(running);
    this.#added.resolve();
    this.#added = Promise.withResolvers();
    // `#work` may end at once, but its `finally` always runs after the promise is stored in `#working`.
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
    return done.promise;
  }

  async #work(): Promise<void> {
    for (;;) {
      await this.#rest();
      const batch = this.#lanes.next(performance.now() - this.#queriedAt < YIELDING_MS);
      if (batch === undefined) return;
      const startedAt = performance.now();
      await this.#runBatch(batch.job as Running, batch.indexes);
      const endedAt = performance.now();
      if (batch.job.lane === "backlog") this.#restUntil = endedAt + REST_MAX_TIMES * (endedAt - startedAt);
    }
  }

  /** Pauses the backlog after a search. A new job of another lane ends the pause. */
  async #rest(): Promise<void> {
    while (!this.#closing && this.#lanes.isBacklogAlone) {
      const leftMs = Math.min(this.#queriedAt + REST_MS, this.#restUntil) - performance.now();
      if (leftMs <= 0) return;
      await Promise.race([this.#added.promise, delay(leftMs, undefined, { ref: false })]);
    }
  }

  async #runBatch(job: Running, indexes: readonly number[]): Promise<void> {
    const refuse = (why: string): void => job.done.reject(unavailable(why, "repeat the call"));
    if (this.#closing) return refuse("the embedder is closing");
    if (performance.now() > job.until) return refuse("the model did not embed this text in time");
    try {
      const results = await job.run(indexes.map((index) => job.items[index] as TokenPair));
      indexes.forEach((index, at) => (job.results[index] = results[at]));
      job.left -= indexes.length;
      if (job.left === 0) job.done.resolve(job.results);
    } catch (error) {
      job.done.reject(error);
    }
  }
}

/** Returns options that keep the runtime's idle threads from spinning on cores that the rest of a search needs. */
function sessionOptions(threads: number): InferenceSession.SessionOptions {
  return { intraOpNumThreads: threads, extra: { session: { intra_op: { allow_spinning: "0" } } } };
}

function asPair(ids: number[]): TokenPair {
  return { ids, secondAt: ids.length };
}

/** Pads the texts to the longest of the batch. The mask excludes the padding. */
function modelInputs(
  TensorOf: typeof Tensor,
  session: InferenceSession,
  batch: readonly TokenPair[],
  sequence: number,
): Record<string, Tensor> {
  const shape = [batch.length, sequence];
  const tokens = new BigInt64Array(batch.length * sequence);
  const mask = new BigInt64Array(tokens.length);
  const types = new BigInt64Array(tokens.length);
  batch.forEach(({ ids, secondAt }, text) => {
    const start = text * sequence;
    ids.forEach((token, at) => (tokens[start + at] = BigInt(token)));
    mask.fill(1n, start, start + ids.length);
    types.fill(1n, start + secondAt, start + ids.length);
  });
  const all: Record<string, Tensor> = {
    input_ids: new TensorOf("int64", tokens, shape),
    attention_mask: new TensorOf("int64", mask, shape),
    token_type_ids: new TensorOf("int64", types, shape),
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => session.inputNames.includes(name)));
}

await serveThread<EmbedMethods>(async () => {
  const data = workerData as EmbedThreadData;
  const runtime = importRuntime(data.runtime);
  const session = await runtime.InferenceSession.create(data.modelFile, sessionOptions(data.threads));
  return new ModelRunner(runtime, session, data);
});
