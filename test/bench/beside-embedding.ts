/** Compares a search during the embedding of thousands of drawers with the same search on an idle broker. */
import { createTestPalace, realModelDir } from "../helpers/palace.ts";
import { Corpus } from "./corpus.ts";
import { fileDocuments } from "./ingest.ts";
import { atMost, median, ms, noModel, type Row } from "./measure.ts";
import { allQuiet } from "./settled.ts";

const DOCUMENTS = 20;
const CHUNKS = 10;
/** Enough documents to keep the embedding busy until the last search. */
const WAITING_DOCUMENTS = 400;
const SEARCHES = 40;
const QUERY_WORDS = 6;
const BAR = 3;

export async function bench(): Promise<Row[]> {
  if (realModelDir === undefined) return noModel("beside-embedding");
  await using palace = createTestPalace({ built: true });
  await palace.startBroker({ MEMPALACE_MODEL_DIR: realModelDir });
  const client = await palace.client();
  const corpus = new Corpus(7);
  // Each question is different, so that no answer comes from a cache.
  const search = async (): Promise<number> => {
    const query = corpus.query(QUERY_WORDS);
    const startedAt = performance.now();
    await client.callTool("mempalace_search", { query });
    return performance.now() - startedAt;
  };
  const searches = async (): Promise<number[]> => {
    const took: number[] = [];
    for (let index = 0; index < SEARCHES; index++) took.push(await search());
    return took;
  };
  await fileDocuments(client, corpus, DOCUMENTS, CHUNKS);
  await allQuiet(client);
  await searches();
  const idle = median(await searches());
  await fileDocuments(client, corpus, WAITING_DOCUMENTS, CHUNKS, "waiting");
  const beside = await searches();
  const { search: left } = await client.call("palace.status", {});
  if (left.pending === 0) throw new Error("everything was embedded before the last search: file more");
  client.close();
  return [
    atMost(
      "search beside background embedding / idle",
      median(beside) / idle,
      BAR,
      `${ms(median(beside))}, slowest ${ms(Math.max(...beside))}, idle ${ms(idle)}; ${left.pending} still waiting`,
    ),
  ];
}
