/** Compares a broker's resident memory before many adds with its memory a minute after them. Sixteen agents write and search meanwhile. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/wire/client/client.ts";
import { createTestPalace } from "../helpers/palace.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import { Corpus } from "./corpus.ts";
import { fileDocuments } from "./ingest.ts";
import { atMost, type Row } from "./measure.ts";

const AGENTS = 16;
const DOCUMENTS = 350;
const CHUNKS = 40;
/** Number of searches before the load, to start every thread and load its code. */
const WARM_UP = 20;
const LOOK_MS = 200;
const REST_MS = 60_000;

export async function bench(): Promise<Row[]> {
  await using palace = createTestPalace({ built: true });
  const { pid } = await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) });
  const resident = (): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
  const client = await palace.client();
  await fileDocuments(client, new Corpus(4), 1, CHUNKS);
  await embedded(client);
  for (let search = 0; search < WARM_UP; search++) await client.callTool("mempalace_search", { query: `${search}` });
  const before = resident();

  let peak = before;
  const watching = setInterval(() => (peak = Math.max(peak, resident())), LOOK_MS);
  const others = await Promise.all(Array.from({ length: AGENTS }, () => palace.client()));
  const filing = fileDocuments(client, new Corpus(5), DOCUMENTS, CHUNKS, "mass");
  let isOver = false;
  const talks = others.map(async (agent, number) => {
    for (let index = 0; !isOver; index++) {
      await agent.callTool("mempalace_add_drawer", {
        wing: "mass",
        room: `agent${number}`,
        content: `${index} of ${number}`,
      });
      await agent.callTool("mempalace_search", { query: `agent ${number} said`, wing: "mass" });
    }
  });
  await filing;
  isOver = true;
  await Promise.all(talks);
  for (const other of others) other.close();
  await embedded(client);
  await delay(REST_MS);
  clearInterval(watching);
  const after = resident();
  client.close();
  const [first, most, last] = [before, peak, after].map((mebibytes) => mebibytes.toFixed(0));
  return [
    atMost(
      "memory a minute after a mass of adds / before",
      after / before,
      1.6,
      `${last} / ${first} MiB, peak ${most}`,
    ),
  ];
}

async function embedded(client: Client): Promise<void> {
  for (;;) {
    const { search } = await client.call("palace.status", {});
    if (search.modelState === "ready" && search.pending === 0) return;
    await delay(LOOK_MS);
  }
}
