/** Measures bulk ingest in drawers per second, with words only and with the model, compared with the bare embedder. */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/wire/client/client.ts";
import { openEmbedder } from "../../src/memory/index/embedding/embedder.ts";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import { createTestPalace, realModelDir } from "../helpers/palace.ts";
import { Corpus } from "./corpus.ts";
import { atLeast, noModel, type Row } from "./measure.ts";

const SOURCES = 400;
const CHUNKS_PER_SOURCE = 40;
const CHUNK_CHARACTERS = 700;
const BATCHES = 3;
const BATCH = 128;

/** Sends whole documents, several at a time, as the feeder does. Returns the number of filed drawers. */
export async function fileDocuments(
  client: Client,
  corpus: Pick<Corpus, "text">,
  documents: number,
  chunks: number,
  wing = "bench",
): Promise<number> {
  let next = 0;
  let drawers = 0;
  const worker = async (): Promise<void> => {
    while (next < documents) {
      const index = next++;
      const content = corpus.text(chunks * CHUNK_CHARACTERS);
      const sha256 = createHash("sha256").update(content).digest("hex");
      const source = {
        wing,
        room: `room${index % 10}`,
        sourceFile: `/bench/${wing}/${index}.md`,
        mtime: 1,
        sha256,
        content,
        addedBy: "bench",
      };
      const filed = await client.call("source.replace", source);
      drawers += filed.drawers;
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  return drawers;
}

export async function bench(): Promise<Row[]> {
  return [await lexical(), ...(await withModel())];
}

async function lexical(): Promise<Row> {
  await using palace = createTestPalace({ built: true });
  await palace.startBroker();
  const client = await palace.client();
  // Makes the texts before the measurement: on two cores this would take a tenth of the broker's time.
  const corpus = new Corpus(1);
  const texts = Array.from({ length: SOURCES }, () => corpus.text(CHUNKS_PER_SOURCE * CHUNK_CHARACTERS));
  const startedAt = performance.now();
  const drawers = await fileDocuments(client, { text: () => texts.pop() ?? "" }, SOURCES, CHUNKS_PER_SOURCE);
  const seconds = (performance.now() - startedAt) / 1000;
  client.close();
  return atLeast(
    "lexical ingest in bulk, drawers/s",
    drawers / seconds,
    3000,
    `${drawers} drawers in ${seconds.toFixed(1)} s`,
  );
}

async function withModel(): Promise<Row[]> {
  if (realModelDir === undefined) return noModel("ingest with the model");
  const corpus = new Corpus(2);
  const files = await findModel({
    dir: realModelDir,
    url: undefined,
    offline: true,
    cacheDir: "/nonexistent",
    userHome: "/nonexistent",
  });
  if (files === undefined) throw new Error("the model is not whole");
  const embedder = await openEmbedder(files, { threads: 2 });
  await embedder.backlog.embed([corpus.text(790)]);

  await using palace = createTestPalace({ built: true, env: { MEMPALACE_MODEL_DIR: realModelDir } });
  await palace.startBroker();
  const client = await palace.client();
  const search = async () => (await client.call("palace.status", {})).search;
  while ((await search()).modelState !== "ready") await delay(20);

  // Both sides take turns batch by batch, so a slow moment of the machine slows both.
  let rawMs = 0;
  let wholeMs = 0;
  let filed = 0;
  for (let batch = 0; batch < BATCHES; batch++) {
    const texts = Array.from({ length: BATCH }, () => corpus.text(790));
    let startedAt = performance.now();
    await embedder.backlog.embed(texts);
    rawMs += performance.now() - startedAt;
    startedAt = performance.now();
    await Promise.all(
      texts.map((content) => client.callTool("mempalace_add_drawer", { wing: "bench", room: "model", content })),
    );
    filed += texts.length;
    for (let now = await search(); now.pending > 0 || now.embedded < filed; now = await search()) await delay(100);
    wholeMs += performance.now() - startedAt;
  }
  await embedder.close();
  const [raw, whole] = [rawMs, wholeMs].map((tookMs) => filed / (tookMs / 1000)) as [number, number];
  client.close();
  return [
    atLeast(
      "ingest with the model / the bare embedder",
      whole / raw,
      0.85,
      `${whole.toFixed(1)} / ${raw.toFixed(1)} drawers/s`,
    ),
  ];
}
