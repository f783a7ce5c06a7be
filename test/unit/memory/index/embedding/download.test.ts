import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModelConfig } from "../../../../../src/config/config.ts";
import {
  type DownloadProgress,
  downloadModel,
  type RemoteFile,
} from "../../../../../src/memory/index/embedding/download.ts";
import { writeTinyModel } from "../../../../helpers/tiny-model.ts";

const NAMES = ["config.json", "tokenizer_config.json", "tokenizer.json", "onnx/model.onnx"];

let home: string;
let source: string;
let server: Server;
let config: ModelConfig;
let files: RemoteFile[];
let requests: { path: string; range: string | undefined }[];
/** Number of bytes after which the server cuts a reply off. */
let cutAfter: number | undefined;
let rangesServed: boolean;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "palace-download-"));
  source = writeTinyModel(join(home, "source"));
  files = NAMES.map((name) => {
    const bytes = readFileSync(join(source, name));
    return { name, sizeBytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  });
  requests = [];
  cutAfter = undefined;
  rangesServed = true;
  server = createServer((request, response) => {
    const path = (request.url ?? "").replace("/models/tiny/", "");
    requests.push({ path, range: request.headers.range });
    if (!existsSync(join(source, path))) return void response.writeHead(404).end();
    const from = rangesServed ? Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0) : 0;
    const bytes = readFileSync(join(source, path)).subarray(from);
    response.writeHead(from > 0 ? 206 : 200, { "content-length": bytes.length });
    if (cutAfter === undefined || bytes.length <= cutAfter) return void response.end(bytes);
    const cutAt = cutAfter;
    cutAfter = undefined;
    response.write(bytes.subarray(0, cutAt));
    // Ends the reply only when these bytes are on the client's disk, so that their number is the same in each run.
    const part = `${target(path)}.part`;
    const timer = setInterval(() => {
      if (!existsSync(part) || statSync(part).size < cutAt) return;
      clearInterval(timer);
      response.destroy();
    }, 5);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/models/tiny/`;
  config = { dir: undefined, rerankDir: undefined, url, offline: false, cacheDir: join(home, "cache"), userHome: home };
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(home, { recursive: true, force: true });
});

const target = (name: string): string => join(config.cacheDir, "all-MiniLM-L6-v2", name);
const download = (seen: DownloadProgress[] = [], change: Partial<ModelConfig> = {}) =>
  downloadModel(
    { ...config, ...change },
    { files, signal: new AbortController().signal, onProgress: (at) => seen.push(at) },
  );

test("the model's download writes every file complete, and the last progress report counts all bytes", async () => {
  const seen: DownloadProgress[] = [];
  const found = await download(seen);
  expect(found.folder).toBe(dirname(target("tokenizer.json")));
  for (const name of NAMES) expect(readFileSync(target(name)).equals(readFileSync(join(source, name)))).toBe(true);
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  expect(seen.at(-1)).toEqual({ receivedBytes: totalBytes, totalBytes });
  expect(readdirSync(dirname(target("onnx/model.onnx")))).toEqual(["model.onnx"]);
});

test("a second download sends no request", async () => {
  await download();
  requests = [];
  await download();
  expect(requests).toEqual([]);
});

test("a broken download continues where it stopped", async () => {
  cutAfter = 100_000;
  await expect(download()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(existsSync(target("onnx/model.onnx"))).toBe(false);
  requests = [];
  await download();
  const [again] = requests;
  expect(requests.length).toBe(1);
  expect(again?.path).toBe("onnx/model.onnx");
  expect(again?.range).toBe("bytes=100000-");
  expect(readFileSync(target("onnx/model.onnx")).equals(readFileSync(join(source, "onnx/model.onnx")))).toBe(true);
});

test("with a server without ranges the file is downloaded again from its start", async () => {
  rangesServed = false;
  mkdirSync(dirname(target("onnx/model.onnx")), { recursive: true });
  writeFileSync(target("onnx/model.onnx.part"), "left over");
  await download();
  expect(readFileSync(target("onnx/model.onnx")).equals(readFileSync(join(source, "onnx/model.onnx")))).toBe(true);
});

test("the download does not keep a file with a wrong checksum", async () => {
  const model = join(source, "onnx/model.onnx");
  const bytes = readFileSync(model);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  writeFileSync(model, bytes);
  await expect(download()).rejects.toThrow(/checksum/);
  expect(readdirSync(dirname(target("onnx/model.onnx")))).toEqual([]);
});

test("the download refuses a file that is longer than expected", async () => {
  writeFileSync(join(source, "config.json"), "x".repeat(1_000_000));
  await expect(download()).rejects.toThrow(/more than/);
});

test("a file that the server lacks is an error with the file's name, and the hint names the setting `model-dir`", async () => {
  rmSync(join(source, "tokenizer.json"));
  await expect(download()).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    message: expect.stringContaining("tokenizer.json"),
    hint: expect.stringContaining("palace config set model-dir"),
  });
});

test("in offline mode the download sends no request", async () => {
  await expect(download([], { offline: true })).rejects.toMatchObject({ code: "CONFIG_BAD_VALUE" });
  expect(requests).toEqual([]);
});

test("an abort ends the download", async () => {
  const controller = new AbortController();
  const onProgress = (): void => controller.abort();
  await expect(downloadModel(config, { files, signal: controller.signal, onProgress })).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
  });
});
