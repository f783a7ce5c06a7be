/**
 * Worker thread that owns the model: tokenizes, runs it in batches, pools. Started by embedder.ts and by nothing else.
 * The runtime is imported here, late, so that a machine without it only loses this thread.
 */
import { workerData } from "node:worker_threads";
import type { InferenceSession, Tensor } from "onnxruntime-node";
import { PalaceError } from "../../protocol/errors.ts";
import { serveThread } from "../thread.ts";
import { type Job, type Lane, Lanes } from "./lanes.ts";
import { poolVectors } from "./pool.ts";
import { openTokenizer } from "./tokenizer.ts";

export type EmbedThreadData = { folder: string; modelFile: string; threads: number; dimensions: number };
export type EmbedMethods = {
  embed(texts: readonly string[], lane: Lane): Promise<Float32Array[]>;
  /** Lets the batch under way end, fails what waits, frees the model. A thread ended in mid-run takes the process along. */
  close(): Promise<void>;
};

type Running = Job<number[]> & { vectors: Float32Array[]; left: number; done: PromiseWithResolvers<Float32Array[]> };

const OUTPUT = "last_hidden_state";

await serveThread<EmbedMethods>(async () => {
  const { folder, modelFile, threads, dimensions } = workerData as EmbedThreadData;
  const runtime = await importRuntime();
  const tokenize = openTokenizer(folder);
  const session = await runtime.InferenceSession.create(modelFile, { intraOpNumThreads: threads });
  const lanes = new Lanes<number[]>((ids) => ids.length);
  let working: Promise<void> | undefined;
  let closing = false;

  async function run(batch: number[][]): Promise<Float32Array[]> {
    const lengths = batch.map((ids) => ids.length);
    const sequence = Math.max(...lengths);
    const output = await session.run(modelInputs(runtime.Tensor, session, batch, sequence));
    return poolVectors(output[OUTPUT]?.data as Float32Array, lengths, sequence, dimensions);
  }

  // One batch at a time: between two of them a query that came in meanwhile gets its turn.
  async function work(): Promise<void> {
    for (let batch = lanes.next(); batch !== undefined; batch = lanes.next()) {
      const job = batch.job as Running;
      if (closing) {
        job.done.reject(new PalaceError("STORE_UNAVAILABLE", "the embedder is closing", "repeat the call"));
        continue;
      }
      try {
        const vectors = await run(batch.indexes.map((index) => job.items[index] as number[]));
        batch.indexes.forEach((index, at) => (job.vectors[index] = vectors[at] as Float32Array));
        job.left -= batch.indexes.length;
        if (job.left === 0) job.done.resolve(job.vectors);
      } catch (error) {
        job.done.reject(error);
      }
    }
    working = undefined;
  }

  return {
    async embed(texts, lane) {
      if (texts.length === 0) return [];
      const done = Promise.withResolvers<Float32Array[]>();
      const job: Running = { items: texts.map(tokenize), lane, vectors: [], left: texts.length, done };
      lanes.add(job);
      working ??= work();
      return done.promise;
    },
    async close() {
      closing = true;
      await working;
      await session.release();
    },
  };
});

async function importRuntime(): Promise<typeof import("onnxruntime-node")> {
  try {
    return await import("onnxruntime-node");
  } catch (cause) {
    throw new PalaceError(
      "STORE_UNAVAILABLE",
      "the embedding runtime onnxruntime-node does not load on this machine; search is lexical",
      "ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node",
      { cause },
    );
  }
}

/** Pads to the longest of the batch; the mask keeps the padding out of the result. */
function modelInputs(
  TensorOf: typeof Tensor,
  session: InferenceSession,
  batch: number[][],
  sequence: number,
): Record<string, Tensor> {
  const shape = [batch.length, sequence];
  const ids = new BigInt64Array(batch.length * sequence);
  const mask = new BigInt64Array(ids.length);
  batch.forEach((tokens, text) => {
    tokens.forEach((token, at) => (ids[text * sequence + at] = BigInt(token)));
    mask.fill(1n, text * sequence, text * sequence + tokens.length);
  });
  const all: Record<string, Tensor> = {
    input_ids: new TensorOf("int64", ids, shape),
    attention_mask: new TensorOf("int64", mask, shape),
    token_type_ids: new TensorOf("int64", new BigInt64Array(ids.length), shape),
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => session.inputNames.includes(name)));
}
