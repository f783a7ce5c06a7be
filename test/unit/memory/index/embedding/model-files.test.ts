import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModelConfig } from "../../../../../src/config/config.ts";
import { findModel } from "../../../../../src/memory/index/embedding/model-files.ts";
import { writeTinyModel } from "../../../../helpers/tiny-model.ts";

let home: string;
let config: ModelConfig;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "palace-model-"));
  config = {
    dir: undefined,
    rerankDir: undefined,
    url: undefined,
    offline: true,
    cacheDir: join(home, "cache"),
    userHome: home,
  };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const inCache = (): string => join(config.cacheDir, "all-MiniLM-L6-v2");
const inChroma = (): string => join(home, ".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx");

test("on a machine without model files no model is found", async () => {
  expect(await findModel({ ...config, dir: join(home, "nowhere") })).toBeUndefined();
});

test("a model is looked up in the configured folder, then in our cache, then in the cache of Python's Chroma", async () => {
  const named = writeTinyModel(join(home, "named"));
  writeTinyModel(inCache());
  const flat = writeTinyModel(inChroma());
  renameSync(join(flat, "onnx/model.onnx"), join(flat, "model.onnx"));

  expect((await findModel({ ...config, dir: named }))?.folder).toBe(named);
  expect((await findModel(config))?.folder).toBe(inCache());
  rmSync(inCache(), { recursive: true });
  expect(await findModel(config)).toMatchObject({ folder: flat, modelFile: join(flat, "model.onnx") });
});

test("a folder without a tokenizer or without a model is skipped", async () => {
  rmSync(join(writeTinyModel(join(home, "named")), "tokenizer.json"));
  rmSync(join(writeTinyModel(inCache()), "onnx/model.onnx"));
  writeTinyModel(inChroma());
  expect((await findModel({ ...config, dir: join(home, "named") }))?.folder).toBe(inChroma());
});

test("a model with an unknown hash gets its own name, and the same bytes get the same name", async () => {
  const one = await findModel({ ...config, dir: writeTinyModel(join(home, "one"), 1) });
  const same = await findModel({ ...config, dir: writeTinyModel(join(home, "same"), 1) });
  const other = await findModel({ ...config, dir: writeTinyModel(join(home, "other"), 2) });
  expect(one?.identity).toMatchObject({ dimensions: 384, id: expect.stringMatching(/^custom:[0-9a-f]{12}$/) });
  expect(same?.identity).toEqual(one?.identity);
  expect(other?.identity).not.toEqual(one?.identity);
});

test("a model's hash is read from the cache until the model file's time changes", async () => {
  const dir = writeTinyModel(join(home, "one"));
  const before = await findModel({ ...config, dir });
  const [note] = readdirSync(config.cacheDir);
  writeFileSync(join(config.cacheDir, note as string), `${"a".repeat(64)}\n`);
  expect((await findModel({ ...config, dir }))?.identity.id).toBe(`custom:${"a".repeat(12)}`);

  utimesSync(join(dir, "onnx/model.onnx"), 1, 1);
  expect((await findModel({ ...config, dir }))?.identity).toEqual(before?.identity);
});

test("a model is found even if the cache cannot be written", async () => {
  const dir = writeTinyModel(join(home, "one"));
  mkdirSync(home, { recursive: true });
  writeFileSync(config.cacheDir, "a file where the folder would be");
  expect((await findModel({ ...config, dir }))?.folder).toBe(dir);
});
