/** Tests the cross-encoder with a tiny model on the real thread. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LocalEmbedder, openEmbedder } from "../../../../../src/memory/index/embedding/embedder.ts";
import { findModel, modelIn, rerankerFolder } from "../../../../../src/memory/index/embedding/model-files.ts";
import type { Reranker } from "../../../../../src/memory/port/search.ts";
import { writeTinyModel, writeTinyReranker } from "../../../../helpers/tiny-model.ts";

const LONG_MS = 30_000;
const home = mkdtempSync(join(tmpdir(), "palace-reranker-"));
let embedder: LocalEmbedder;

beforeAll(async () => {
  const dir = writeTinyModel(join(home, "tiny"));
  const files = await findModel({ dir, url: undefined, offline: true, cacheDir: join(home, "cache"), userHome: home });
  if (files === undefined) throw new Error("the tiny model is incomplete");
  embedder = await openEmbedder(files, { threads: 1 });
});
afterAll(async () => {
  await embedder.close();
  rmSync(home, { recursive: true, force: true });
});

async function open(weights: Record<string, number>): Promise<Reranker> {
  const place = await modelIn(writeTinyReranker(mkdtempSync(join(home, "cross-")), weights));
  if (place === undefined) throw new Error("the tiny cross-encoder is incomplete");
  return embedder.openReranker(place);
}

test("each text gets the logit of its pair with the question, in the given order, whichever other texts are in the batch", async () => {
  const { rerank } = await open({ qq: 2, zz: -1, aa: 100 });
  const texts = Array.from(
    { length: 21 },
    (_, at) => `${"qq ".repeat(at % 4)}${"zz ".repeat(at % 3)}${"xx ".repeat(at)}`,
  );
  // The test's model ignores the token type, by which a real model tells the question from the text.
  const logits = await rerank("aa aa", texts, LONG_MS);
  expect(logits).toEqual(texts.map((_, at) => 2 * (at % 4) - (at % 3)));
  expect(await rerank("aa", [], LONG_MS)).toEqual([]);
});

test("a text over 512 tokens and a question of several pages are truncated and still scored", async () => {
  const { rerank } = await open({ qq: 1, yy: 1000 });
  const [logit = 0] = await rerank("why", [`${"qq ".repeat(600)}yy`], LONG_MS);
  expect(logit).toBeGreaterThan(400);
  expect(logit).toBeLessThan(512);
  expect(await rerank("long ".repeat(20_000), ["qq"], LONG_MS)).toEqual([1]);
});

test("a call that is not finished in time is refused, and the next call is answered", async () => {
  const { rerank } = await open({ qq: 1 });
  await expect(rerank("a", ["qq"], -1)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(await rerank("a", ["qq"], LONG_MS)).toEqual([1]);
});

test("while four searches use the cross-encoder, a fifth search is refused at once", async () => {
  const { rerank } = await open({ qq: 1 });
  const texts = Array.from({ length: 20 }, () => "qq ".repeat(300));
  const answers = await Promise.allSettled(Array.from({ length: 5 }, () => rerank("a", texts, LONG_MS)));
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "fulfilled", "rejected"]);
});

test("a model that returns no numbers fails, an invalid model file is refused, and embedding still works", async () => {
  const { rerank } = await open({ qq: Number.NaN });
  await expect(rerank("a", ["qq"], LONG_MS)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });

  const broken = writeTinyReranker(join(home, "broken"), {});
  writeFileSync(join(broken, "onnx/model.onnx"), "no model");
  const place = await modelIn(broken);
  await expect(embedder.openReranker(place as NonNullable<typeof place>)).rejects.toThrow();
  expect(await embedder.embed(["a boat"])).toHaveLength(1);
});

test("the cross-encoder is looked up in the configured folder, then beside the embedding model's downloads", async () => {
  expect(rerankerFolder({ rerankDir: "/named", cacheDir: "/cache" })).toBe("/named");
  const cacheDir = join(home, "models");
  const folder = rerankerFolder({ rerankDir: undefined, cacheDir });
  expect(folder).toBe(join(cacheDir, "ms-marco-MiniLM-L-6-v2"));
  expect(await modelIn(folder)).toBeUndefined();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "tokenizer.json"), "{}");
  expect(await modelIn(folder)).toBeUndefined();
  writeTinyReranker(folder, {});
  expect(await modelIn(folder)).toEqual({ folder, modelFile: join(folder, "onnx/model.onnx") });
});
