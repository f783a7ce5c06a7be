/** Measures a palace of 50,000 drawers: hybrid search against its two parts, and status and cold start against a small palace. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import type { Client } from "../../src/wire/client/client.ts";
import { openEmbedder } from "../../src/memory/index/embedding/embedder.ts";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import { openVectorIndex } from "../../src/memory/index/vectors/vector-index.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import { Corpus } from "./corpus.ts";
import { fileDocuments } from "./ingest.ts";
import { atMost, median, ms, type Row, time } from "./measure.ts";

const LARGE = Number(process.env["PALACE_BENCH_DRAWERS"] ?? 50_000);
const CHUNKS = 40;
const QUERIES = 60;
const QUERY_WORDS = 5;

export async function bench(): Promise<Row[]> {
  await using large = createTestPalace({ built: true });
  await using small = createTestPalace({ built: true });
  const model = writeTinyModel(`${large.home}/model`);
  const env = { MEMPALACE_MODEL_DIR: model };
  const largeBroker = await large.startBroker(env);
  const client = await large.client();
  await fill(client, LARGE);
  const smallBroker = await small.startBroker(env);
  const smallClient = await small.client();
  await fill(smallClient, 500);

  const rows = [...(await searches(client, large, model)), await statuses(client, smallClient)];
  client.close();
  smallClient.close();
  await stop(largeBroker);
  await stop(smallBroker);

  await using tiny = createTestPalace({ built: true });
  const tinyBroker = await tiny.startBroker(env);
  const tinyClient = await tiny.client();
  await fill(tinyClient, 100);
  tinyClient.close();
  await stop(tinyBroker);
  const many: number[] = [];
  const few: number[] = [];
  for (let round = 0; round < 7; round++) {
    many.push(await coldStart(large, env));
    few.push(await coldStart(tiny, env));
  }
  rows.push(
    atMost(
      `cold start to ready, ${LARGE} / 100 drawers`,
      median(many) / median(few),
      4,
      `${ms(median(many))} / ${ms(median(few))}`,
    ),
  );
  return rows;
}

async function fill(client: Client, drawers: number): Promise<void> {
  const filed = await fileDocuments(client, new Corpus(3), Math.ceil(drawers / CHUNKS), CHUNKS);
  for (;;) {
    const { search, drawers: total } = await client.call("palace.status", {});
    if (search.modelState === "ready" && search.pending === 0 && total >= filed) return;
    await delay(100);
  }
}

async function searches(client: Client, palace: TestPalace, model: string): Promise<Row[]> {
  const corpus = new Corpus(3);
  const queries = Array.from({ length: QUERIES }, () => corpus.query(QUERY_WORDS));
  const query = (round: number): string => queries[Math.max(0, round) % QUERIES] ?? "";

  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  ledger.pragma("cache_size = -65536");
  const fts = ledger.prepare(
    "SELECT rowid FROM drawer_fts WHERE drawer_fts MATCH ? ORDER BY bm25(drawer_fts) LIMIT 100",
  );
  const files = await findModel({
    dir: model,
    url: undefined,
    offline: true,
    cacheDir: "/nonexistent",
    userHome: "/nonexistent",
  });
  if (files === undefined) throw new Error("the tiny model is not whole");
  const embedder = await openEmbedder(files, { threads: 1 });
  const vectors = await embedder.embed(queries);
  const index = openVectorIndex({ ledgerFile: palace.config.paths.ledgerFile });

  const embedTimes = await time(QUERIES, (round) => embedder.backlog.embed([`${query(round)} again`]));
  const ftsTimes = await time(QUERIES, (round) =>
    fts.all(
      query(round)
        .split(" ")
        .map((word) => `"${word}"`)
        .join(" OR "),
    ),
  );
  const scanTimes = await time(QUERIES, (round) => index.nearest(vectors[Math.max(0, round)] as Float32Array, {}, 100));
  // The second call finds the query's vector in the cache, so only the search itself is timed.
  const hybrid = async (round: number): Promise<unknown> =>
    client.call("drawer.search", { query: query(round), limit: 10, mode: "hybrid" });
  await time(QUERIES, hybrid);
  const hybridTimes = await time(QUERIES, hybrid);
  ledger.close();
  await embedder.close();
  await index.close();
  const slower = Math.max(median(ftsTimes), median(scanTimes));
  const detail = `${ms(median(hybridTimes))} / FTS5 ${ms(median(ftsTimes))}, scan ${ms(median(scanTimes))}; query embedding ${ms(median(embedTimes))} apart`;
  return [atMost(`hybrid search at ${LARGE} / its slower raw list`, median(hybridTimes) / slower, 1.5, detail)];
}

async function statuses(large: Client, small: Client): Promise<Row> {
  const many: number[] = [];
  const few: number[] = [];
  for (let round = 0; round < 300; round++) {
    many.push(...(await time(1, () => large.callTool("mempalace_status", {}), 0)));
    few.push(...(await time(1, () => small.callTool("mempalace_status", {}), 0)));
  }
  return atMost(
    `status at ${LARGE} / at 500`,
    median(many) / median(few),
    1.5,
    `${ms(median(many))} / ${ms(median(few))}`,
  );
}

/** Returns the time from spawning the broker until /ready answers 200, which means that a search works, ms. */
async function coldStart(palace: TestPalace, env: Record<string, string>): Promise<number> {
  const startedAt = performance.now();
  const starting = palace.startBroker(env);
  while (!(await isReady(palace.config.paths.socketPath))) await delay(2);
  const took = performance.now() - startedAt;
  await stop(await starting);
  return took;
}

function isReady(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("error", () => resolve(false));
    socket.on("data", (chunk) => {
      resolve(chunk.toString("latin1").startsWith("HTTP/1.1 200"));
      socket.destroy();
    });
    socket.write("GET /ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  });
}

async function stop(broker: ChildProcess): Promise<void> {
  broker.kill("SIGTERM");
  await once(broker, "exit");
}
