/** Tests the Chroma driver against simulated servers: silent, late and damaged servers, another program's server, and Chroma Cloud. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import type { ChromaConfig } from "../../../src/config/config.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import type { Metadata } from "../../../src/memory/port/drawer.ts";
import type { PalaceDriver, PalaceRecord } from "../../../src/memory/port/public-palace.ts";
import { createChromaDriver } from "../../../src/mempalace/driver/chroma.ts";
import {
  CHROMA_TIMEOUTS,
  CLOUD_LIMITS,
  type ChromaTimeouts,
  sliceRequests,
} from "../../../src/mempalace/driver/limits.ts";

function config(url: string): ChromaConfig {
  return { url, token: undefined, tenant: "default_tenant", database: "default_database" };
}

function chromaDriver(url: string, timeouts: Partial<ChromaTimeouts> = {}): PalaceDriver {
  return createChromaDriver({ chroma: config(url), log: SILENT_LOG, timeouts: { ...CHROMA_TIMEOUTS, ...timeouts } });
}

function record(id: string, metadata: Metadata = { wing: "w" }, text = `text of ${id}`): PalaceRecord {
  return { id, text, metadata, vector: new Float32Array([1, 0]) };
}

test("the driver reports a port without a server as unavailable", async () => {
  const driver = chromaDriver("http://127.0.0.1:1");
  await expect(driver.open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
  await expect(driver.count()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("the driver reports a server of another program as unavailable, at the start or at the first call", async () => {
  await using other = await serve((_, response) => response.writeHead(200).end("<html>hello</html>"));
  await expect(chromaDriver(other.url).open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await using odd = await serve((_, response) => response.writeHead(200).end('{"id":"1","max_batch_size":9}'));
  const driver = chromaDriver(odd.url);
  await driver.open();
  const query = (): Promise<unknown> => driver.query(new Float32Array([1, 0]), {}, 1);
  for (const call of [() => driver.upsert([record("a")]), () => driver.ids(0, 1), query])
    await expect(call()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("a request to a silent server ends at its time-out or when the driver closes", async () => {
  await using silent = await serve(() => {});
  await expect(chromaDriver(silent.url, { readMs: 200 }).open()).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    message: expect.stringContaining("within 0.2 s") as string,
  });
  const patient = chromaDriver(silent.url, { readMs: 3_600_000 });
  const opening = patient.open();
  await new Promise((resolve) => setTimeout(resolve, 20));
  await patient.close();
  await expect(opening).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("after an unanswered write the driver waits before the next write, so that the late write arrives first", async () => {
  const landed: string[] = [];
  await using slow = await serve((request, response) => {
    const answer = (body: unknown): void =>
      void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (request.url?.endsWith("/upsert") === true) {
      const first = landed.length === 0;
      landed.push(first ? "on its way" : "newest");
      if (first) setTimeout(() => landed.push("cut off"), 1_200);
      else answer(true);
    } else if (request.url?.endsWith("/get") === true) answer({ ids: [], metadatas: [], include: [] });
    else answer({ id: "00000000-0000-4000-8000-000000000000", max_batch_size: 100 });
  });
  const driver = chromaDriver(slow.url, { writeMs: 1_000, settleMs: 1_500 });
  await driver.open();
  await expect(driver.upsert([record("a")])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await driver.open();
  await driver.upsert([record("a")]);
  expect(landed).toEqual(["on its way", "cut off", "newest"]);
});

test("if the server refuses the token, the palace is unavailable and the hint names MEMPALACE_CHROMA_TOKEN", async () => {
  await using guarded = await serve((_, response) => response.writeHead(401).end('{"message":"no"}'));
  await expect(chromaDriver(guarded.url).open()).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    hint: expect.stringContaining("MEMPALACE_CHROMA_TOKEN") as string,
  });
});

test("a server with a half-written index counts as damaged, and a retry is useless", async () => {
  const body = '{"error":"InternalError","message":"Error loading hnsw index"}';
  await using torn = await serve((_, response) => response.writeHead(500).end(body));
  await expect(chromaDriver(torn.url).open()).rejects.toMatchObject({ code: "STORE_CORRUPT", retryable: false });
});

test.each([
  ["Quota exceeded: 'Document size' exceeded quota limit", "CONFIG_BAD_VALUE"],
  ["Billing limit exceeded", "STORE_UNAVAILABLE"],
])("an upsert that a server answers with %j rejects with %s", async (message, code) => {
  await using full = await serve((request, response) => {
    const isUpsert = request.url?.endsWith("/upsert") === true;
    const known = {
      id: "00000000-0000-4000-8000-000000000000",
      max_batch_size: 9,
      ids: [],
      metadatas: [],
      include: [],
    };
    const body = isUpsert ? { error: "InvalidArgument", message } : known;
    response.writeHead(isUpsert ? 422 : 200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const driver = chromaDriver(full.url);
  await driver.open();
  await expect(driver.upsert([record("a")])).rejects.toMatchObject({
    ...{ code, message: expect.stringContaining(message) as string },
  });
});

test("the driver sends the token, and refuses a URL with a password or a path", async () => {
  const seen: unknown[] = [];
  await using server = await serve((request, response) => {
    seen.push(request.headers["x-chroma-token"]);
    response.writeHead(500).end();
  });
  const chroma = { ...config(server.url), token: "s3cret" };
  const opening = createChromaDriver({ chroma, log: SILENT_LOG }).open();
  await expect(opening).rejects.not.toThrow("s3cret");
  expect(seen).toEqual(["s3cret"]);
  for (const url of ["http://me:pw@host:1", "http://host/prefix", "host:8000", "ftp://host", "nonsense"]) {
    expect(() => chromaDriver(url), url).toThrow(expect.objectContaining({ code: "CONFIG_BAD_VALUE" }) as Error);
  }
});

test("the driver checks Cloud quotas before the first request to the Cloud", async () => {
  const cloud = chromaDriver("https://api.trychroma.com");
  expect(cloud.recordsMax).toBe(CLOUD_LIMITS.recordsMax);
  const overQuota: PalaceRecord[] = [
    record("x".repeat(CLOUD_LIMITS.idSizeMaxBytes + 1)),
    record("a", {}, "ü".repeat(CLOUD_LIMITS.documentSizeMaxBytes / 2 + 1)),
    record("a", Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, i]))),
    record("a", { topic: "x".repeat(CLOUD_LIMITS.metadataValueSizeMaxBytes + 1) }),
    record("a", { ["k".repeat(CLOUD_LIMITS.metadataKeySizeMaxBytes + 1)]: 1 }),
  ];
  for (const one of overQuota) {
    await expect(cloud.upsert([one])).rejects.toMatchObject({ code: "CONFIG_BAD_VALUE" });
    const local = chromaDriver("http://127.0.0.1:1").upsert([one]);
    await expect(local).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  }
});

test("the driver splits a list into requests by count and by size", () => {
  const large = record("large", {}, "x".repeat(9 * 1024 * 1024));
  const half = record("half", {}, "x".repeat(5 * 1024 * 1024));
  const sizes = sliceRequests([record("a"), large, record("b"), half, half, record("c"), record("d")], 2);
  expect(sizes.map((request) => request.map(({ id }) => id))).toEqual([
    ["a"],
    ["large"],
    ["b", "half"],
    ["half", "c"],
    ["d"],
  ]);
});

type Handler = Parameters<typeof createServer>[1];

async function serve(handler: Handler): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
