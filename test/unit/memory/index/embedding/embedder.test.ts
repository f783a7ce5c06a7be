import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LocalEmbedder, openEmbedder } from "../../../../../src/memory/index/embedding/embedder.ts";
import { findModel } from "../../../../../src/memory/index/embedding/model-files.ts";
import { writeTinyModel } from "../../../../helpers/tiny-model.ts";

const shared = resolve(import.meta.dirname, "../../../../../../shared/models");
const golden = join(shared, "golden.jsonl");
if (!existsSync(golden)) console.warn(`left out: the golden vectors, there is no ${golden}`);

const home = mkdtempSync(join(tmpdir(), "palace-embedder-"));
let embedder: LocalEmbedder;

const open = async (dir: string): Promise<LocalEmbedder> => {
  const config = { dir, url: undefined, offline: true, cacheDir: join(home, "cache"), userHome: home };
  const files = await findModel(config);
  if (files === undefined) throw new Error(`no model in ${dir}`);
  return openEmbedder(files, { threads: 1 });
};

beforeAll(async () => {
  embedder = await open(writeTinyModel(join(home, "tiny")));
});
afterAll(async () => {
  await embedder.close();
  rmSync(home, { recursive: true, force: true });
});

const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
const embedOne = async (text: string): Promise<Float32Array> => {
  const [vector] = await embedder.embed([text]);
  if (vector === undefined) throw new Error("no vector");
  return vector;
};

test("vectors have 384 numbers and length 1, also for an empty text", async () => {
  for (const vector of await embedder.embed(["a red boat", "", "  ", "x".repeat(5000)])) {
    expect(vector.length).toBe(384);
    expect(dot(vector, vector)).toBeCloseTo(1, 5);
  }
});

test("vectors come in the order of the texts", async () => {
  const texts = Array.from({ length: 21 }, (_, at) => `word${at} `.repeat(((at * 7) % 20) + 1));
  const together = await embedder.backlog.embed(texts);
  for (const [at, text] of texts.entries())
    expect(dot(together[at] as Float32Array, await embedOne(text))).toBeCloseTo(1, 5);
});

test("padding a batch to its longest text does not change a vector", async () => {
  const alone = await embedOne("short");
  const [padded] = await embedder.backlog.embed(["short", "a much longer text that decides about the padding"]);
  expect(dot(alone, padded as Float32Array)).toBeCloseTo(1, 6);
});

test("text beyond 256 tokens does not change the vector", async () => {
  const start = "ab ".repeat(254);
  expect(dot(await embedOne(start), await embedOne(`${start}zz yy xx`))).toBeCloseTo(1, 6);
  expect(dot(await embedOne(start.slice(0, 300)), await embedOne(`${start.slice(0, 300)}zz yy xx`))).toBeLessThan(
    0.9999,
  );
});

test("a query overtakes a backlog that arrived first", async () => {
  const order: string[] = [];
  const texts = Array.from({ length: 400 }, (_, at) => `text number ${at} of a long backlog `.repeat(12));
  const backlog = embedder.backlog.embed(texts).then(() => order.push("backlog"));
  const query = embedder.embed(["one question"]).then(() => order.push("query"));
  await Promise.all([backlog, query]);
  expect(order).toEqual(["query", "backlog"]);
});

test("changing a returned vector does not change the next answer", async () => {
  const first = await embedOne("kept query");
  const copy = first.slice();
  first.fill(0);
  expect(await embedOne("kept query")).toEqual(copy);
});

test("an invalid model file is refused with the error STORE_UNAVAILABLE", async () => {
  const dir = writeTinyModel(join(home, "broken"));
  writeFileSync(join(dir, "onnx/model.onnx"), "not a model");
  await expect(open(dir)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("a call to a closed embedder fails with STORE_UNAVAILABLE", async () => {
  const other = await open(join(home, "tiny"));
  await other.close();
  await expect(other.embed(["late"])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test.skipIf(!existsSync(golden))(
  "the real model gives the golden vectors within 1e-4",
  async () => {
    const lines = readFileSync(golden, "utf8").trim().split("\n");
    const expected = lines.map((line) => JSON.parse(line) as { text: string; vector: number[] });
    const real = await open(join(shared, "all-MiniLM-L6-v2"));
    const vectors = await real.backlog.embed(expected.map(({ text }) => text));
    await real.close();
    const worst = vectors.map((vector, at) =>
      Math.max(...vector.map((value, d) => Math.abs(value - (expected[at]?.vector[d] ?? Number.NaN)))),
    );
    expect(worst.length).toBe(expected.length);
    expect(Math.max(...worst)).toBeLessThanOrEqual(1e-4);
  },
  120_000,
);
