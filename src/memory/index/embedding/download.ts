/** Downloads the model into the cache. Each file is written to `*.part`, checked and renamed, so a file with its final name is whole. */
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ModelConfig } from "../../../config/config.ts";
import { badValue, type PalaceError, unavailable } from "../../../base/errors.ts";
import { downloadFolder, findModel, HUB_MODEL_SHA256, hashFile, type ModelFiles } from "./model-files.ts";

/** URL of the pinned revision. Another revision could be another model with the same name. */
const HUB_URL =
  "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41";

export type RemoteFile = { name: string; sha256: string; sizeBytes: number };

/** Files of the model (source: models README). The model file is last, so a folder with the model file has all files. */
const MODEL_FILES: readonly RemoteFile[] = [
  { name: "config.json", sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41", sizeBytes: 612 },
  {
    name: "tokenizer_config.json",
    sha256: "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    sizeBytes: 350,
  },
  {
    name: "special_tokens_map.json",
    sha256: "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    sizeBytes: 112,
  },
  { name: "vocab.txt", sha256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3", sizeBytes: 231_508 },
  {
    name: "tokenizer.json",
    sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    sizeBytes: 466_247,
  },
  { name: "onnx/model.onnx", sha256: HUB_MODEL_SHA256, sizeBytes: 90_405_214 },
];

export type DownloadProgress = { receivedBytes: number; totalBytes: number };
export type DownloadOptions = {
  signal: AbortSignal;
  onProgress: (progress: DownloadProgress) => void;
  /** Files to fetch; tests use a smaller model. */
  files?: readonly RemoteFile[];
};

/** Maximum silence of the server, ms. The next try continues where this one stopped. */
const SILENCE_MAX_MS = 30_000;

/** Downloads the missing files. Errors: CONFIG_BAD_VALUE when offline; STORE_UNAVAILABLE if a file cannot be fetched or does not match. */
export async function downloadModel(config: ModelConfig, options: DownloadOptions): Promise<ModelFiles> {
  const { signal, onProgress, files = MODEL_FILES } = options;
  if (config.offline)
    throw badValue("the setting offline forbids the download", "palace config set offline off, then palace restart");
  const base = (config.url ?? HUB_URL).replace(/\/+$/, "");
  const folder = downloadFolder(config);
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  let doneBytes = 0;
  for (const file of files) {
    const target = join(folder, file.name);
    if (!(await isWhole(target, file))) {
      await fetchFile(`${base}/${file.name}`, target, file, signal, (bytes) =>
        onProgress({ receivedBytes: doneBytes + bytes, totalBytes }),
      );
    }
    doneBytes += file.sizeBytes;
    onProgress({ receivedBytes: doneBytes, totalBytes });
  }
  const found = await findModel({ ...config, dir: folder });
  if (found === undefined) throw refusal("the model is not complete after its download");
  return found;
}

async function fetchFile(
  url: string,
  target: string,
  file: RemoteFile,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const part = `${target}.part`;
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const have = await sizeOf(part);
  if (have < file.sizeBytes) await fetchRest(url, part, have, file, signal, onBytes);
  if (!(await isWhole(part, file))) {
    // A later try would continue with this damaged part and fail again.
    await rm(part, { force: true });
    throw refusal(`${url} is not the file expected: its checksum differs`);
  }
  await rename(part, target);
}

/** Fetches the missing rest of a file, or the whole file if the server does not support ranges. */
async function fetchRest(
  url: string,
  part: string,
  have: number,
  file: RemoteFile,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error("the server went silent")), SILENCE_MAX_MS);
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([signal, silence.signal]),
      headers: have > 0 ? { range: `bytes=${have}-` } : {},
    });
    if (!response.ok || response.body === null) throw new Error(`HTTP status ${response.status}`);
    const resumed = response.status === 206;
    let bytes = resumed ? have : 0;
    const meter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        timer.refresh();
        bytes += chunk.length;
        if (bytes > file.sizeBytes) return done(new Error(`more than the ${file.sizeBytes} bytes expected`));
        onBytes(bytes);
        done(null, chunk);
      },
    });
    await pipeline(
      Readable.fromWeb(response.body as never),
      meter,
      createWriteStream(part, { flags: resumed ? "a" : "w", mode: 0o600 }),
    );
  } catch (cause) {
    throw refusal(`${url} could not be fetched: ${(cause as Error).message}`, cause);
  } finally {
    clearTimeout(timer);
  }
}

function refusal(message: string, cause?: unknown): PalaceError {
  return unavailable(message, "name a folder that has it: palace config set model-dir DIR", cause);
}

async function isWhole(path: string, file: RemoteFile): Promise<boolean> {
  return (await sizeOf(path)) === file.sizeBytes && (await hashFile(path)) === file.sha256;
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
