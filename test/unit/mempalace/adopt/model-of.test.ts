/** Tests how the broker finds out, from a sample of a palace's rows, which model made the vectors. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Embedder } from "../../../../src/memory/port/search.ts";
import { modelOf, type Sample } from "../../../../src/mempalace/adopt/model-of.ts";
import { ChromaPalace } from "../../../helpers/chroma-palace.ts";

let palaceDir: string;
beforeEach(() => {
  palaceDir = mkdtempSync(join(tmpdir(), "palace-model-"));
});
afterEach(() => rmSync(palaceDir, { recursive: true }));

/** Returns a unit vector with a different direction for each text. */
function vectorOf(text: string, width: number): Float32Array {
  const vector = Float32Array.from({ length: width }, (_, at) => Math.sin((at + 1) * (text.length + Number(text))));
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

const embedder = (width: number, embed?: Embedder["embed"]): Embedder => ({
  identity: { id: "ours", dimensions: width },
  embed: embed ?? ((texts) => Promise.resolve(texts.map((text) => vectorOf(text, width)))),
  close: () => Promise.resolve(),
});

/** Returns samples of texts with their vectors. The first `odd` of them have the vector of another text. */
function samples(count: number, odd: number, width = 384): Sample[] {
  return Array.from({ length: count }, (_, at) => {
    const text = String(at + 1);
    return { text, vector: vectorOf(at < odd ? String(at + 100) : text, width) };
  });
}

const find = (rows: readonly Sample[], ours: Embedder | undefined) =>
  modelOf(rows, { palaceDir, recorded: undefined, embedder: ours });

it("the majority of the sampled vectors decides which model made a palace's vectors", async () => {
  expect(await find(samples(24, 1), embedder(384))).toEqual({ model: "ours", width: 384, why: "" });
  expect(await find(samples(24, 11), embedder(384))).toMatchObject({ model: "ours" });
  expect(await find(samples(24, 12), embedder(384))).toMatchObject({ model: undefined });
  expect((await find(samples(24, 24), embedder(384))).why).toMatch(/from another model/);
});

it("the error for a wrong vector width names both widths", async () => {
  const found = await find(samples(24, 0, 768), embedder(384));
  expect(found).toMatchObject({ model: undefined, width: undefined });
  expect(found.why).toMatch(/768 numbers, our model's 384/);
  expect((await find(samples(24, 0, 768), undefined)).why).toMatch(/768 numbers/);
});

it("a model that fails cannot identify the vectors", async () => {
  new ChromaPalace(palaceDir).close();
  const failing = embedder(384, () => Promise.reject(new Error("out of memory")));
  expect(await find(samples(3, 0), failing)).toMatchObject({ model: undefined });
});

it("an empty palace has no model, and no reason is given", async () => {
  expect(await find([], embedder(384))).toEqual({ model: undefined, width: undefined, why: "" });
});
