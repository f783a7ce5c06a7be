/** Finds the embedding model on this machine and identifies it by its hash. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ModelConfig } from "../../../config/config.ts";
import { writeFileAtomic } from "../../../base/atomic-file.ts";
import type { ModelIdentity } from "../../port/search.ts";

export const MODEL_NAME = "all-MiniLM-L6-v2";
const DIMENSIONS = 384;

/** SHA-256 of model.onnx on the hub, revision 1110a243. Python's Chroma has the same file. */
export const HUB_MODEL_SHA256 = "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452";
/** SHA-256 of files with the same weights. Their vectors differ by at most about 1e-6, so one palace may mix them. */
const SAME_WEIGHTS: ReadonlySet<string> = new Set([
  HUB_MODEL_SHA256,
  "71927e141d39160284b6ad5bf2ef19cd454734a4d10ff56a99c8cd5eccd75ff9",
]);

/** Paths of a model on this machine. `folder` has the tokenizer's files. */
export type ModelPlace = { folder: string; modelFile: string };
export type ModelFiles = ModelPlace & { identity: ModelIdentity };

const RERANKER_NAME = "ms-marco-MiniLM-L-6-v2";

/** Returns the first folder with a whole model: the folder that the user named, our cache, the cache of Python's Chroma. */
export async function findModel(config: Omit<ModelConfig, "rerankDir">): Promise<ModelFiles | undefined> {
  const folders = [
    ...(config.dir === undefined ? [] : [config.dir]),
    downloadFolder(config),
    join(config.userHome, ".cache/chroma/onnx_models", MODEL_NAME, "onnx"),
  ];
  for (const folder of folders) {
    const place = await modelIn(folder);
    if (place !== undefined) return { ...place, identity: await identify(place.modelFile, config.cacheDir) };
  }
  return undefined;
}

/** Returns the cross-encoder's folder. Any cross-encoder will do, because it only reorders hits. */
export function rerankerFolder({ rerankDir, cacheDir }: Pick<ModelConfig, "rerankDir" | "cacheDir">): string {
  return rerankDir ?? join(cacheDir, RERANKER_NAME);
}

export async function modelIn(folder: string): Promise<ModelPlace | undefined> {
  if (!(await isFile(join(folder, "tokenizer.json")))) return undefined;
  for (const modelFile of [join(folder, "onnx/model.onnx"), join(folder, "model.onnx")])
    if (await isFile(modelFile)) return { folder, modelFile };
  return undefined;
}

export function downloadFolder({ cacheDir }: Pick<ModelConfig, "cacheDir">): string {
  return join(cacheDir, MODEL_NAME);
}

export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

async function identify(modelFile: string, cacheDir: string): Promise<ModelIdentity> {
  const sha256 = await hashOnce(modelFile, cacheDir);
  const id = SAME_WEIGHTS.has(sha256) ? MODEL_NAME : `custom:${sha256.slice(0, 12)}`;
  return { id, dimensions: DIMENSIONS };
}

/** Caches the file's hash until its size or time changes, because hashing 91 MB takes longer than the rest of a start. */
async function hashOnce(modelFile: string, cacheDir: string): Promise<string> {
  const { size, mtimeMs } = await stat(modelFile);
  const key = createHash("sha256").update(`${modelFile}\0${size}\0${mtimeMs}`).digest("hex").slice(0, 16);
  const noteFile = join(cacheDir, `${key}.sha256`);
  const noted = (await readFile(noteFile, "utf8").catch(() => "")).trim();
  if (/^[0-9a-f]{64}$/.test(noted)) return noted;
  const sha256 = await hashFile(modelFile);
  // Ignores a failure, because the next start computes the hash again.
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
    .then(() => writeFileAtomic(noteFile, `${sha256}\n`))
    .catch(() => {});
  return sha256;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
