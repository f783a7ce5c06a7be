/** Measures one agent's write while a feeder files a large project and sixteen agents call without a pause. */
import { setTimeout as delay } from "node:timers/promises";
import { createTestPalace } from "../helpers/palace.ts";
import { Corpus } from "./corpus.ts";
import { fileDocuments } from "./ingest.ts";
import { median, ms, type Row } from "./measure.ts";

const AGENTS = 16;
const WRITES = 60;
const DOCUMENTS = 100_000;
const BAR_MS = 1_000;

export async function bench(): Promise<Row[]> {
  await using palace = createTestPalace({ built: true });
  await palace.startBroker();
  const client = await palace.client();
  const write = async (content: string): Promise<number> => {
    const startedAt = performance.now();
    await client.callTool("mempalace_add_drawer", { wing: "pressure", room: "interactive", content });
    return performance.now() - startedAt;
  };
  const alone: number[] = [];
  for (let index = 0; index < WRITES; index++) alone.push(await write(`alone ${index}`));

  // These agents call until their connections are closed.
  const others = await Promise.all(Array.from({ length: AGENTS + 1 }, () => palace.client()));
  const [feeder, ...agents] = others;
  const noise = agents.map(async (agent, number) => {
    for (let index = 0; ; index++) {
      await agent.callTool("mempalace_add_drawer", { wing: "pressure", room: `agent${number}`, content: `${index}` });
      await agent.callTool("mempalace_search", { query: `agent ${number} said`, wing: "pressure" });
    }
  });
  if (feeder !== undefined) noise.push(fileDocuments(feeder, new Corpus(5), DOCUMENTS, 40) as Promise<never>);
  const ended = Promise.allSettled(noise);
  await delay(1_000);
  const pressed: number[] = [];
  for (let index = 0; index < WRITES; index++) pressed.push(await write(`pressed ${index}`));
  for (const other of others) other.close();
  await ended;
  client.close();

  const worst = Math.max(...pressed);
  const detail = `median ${ms(median(pressed))}, alone ${ms(median(alone))}`;
  return [
    {
      name: `slowest of ${WRITES} writes beside a feeder and ${AGENTS} agents`,
      measured: `${ms(worst)} (${detail})`,
      bar: `<= ${BAR_MS} ms`,
      ok: worst <= BAR_MS,
    },
  ];
}
