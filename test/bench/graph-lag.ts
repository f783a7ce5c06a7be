/** Measures the time from a fact's acknowledgement until another process finds it in MemPalace's graph file. */
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { createTestPalace } from "../helpers/palace.ts";
import { median, ms, type Row } from "./measure.ts";

const FACTS = 40;
const BAR_MS = 100;
const PAUSE_MS = 50;

export async function bench(): Promise<Row[]> {
  await using palace = createTestPalace({ built: true });
  await palace.startBroker();
  const shim = await palace.shim();
  const { graphFile } = palace.config.paths;
  const factsThere = (): number => {
    if (!existsSync(graphFile)) return 0;
    try {
      const database = new Database(graphFile, { readonly: true });
      const facts = database.prepare<[], number>("SELECT count(*) FROM triples").pluck().get() ?? 0;
      database.close();
      return facts;
    } catch {
      return 0; // The file does not exist yet.
    }
  };
  const times: number[] = [];
  for (let index = 0; index < FACTS; index++) {
    await shim.call("mempalace_kg_add", { subject: `part ${index}`, predicate: "is", object: `made ${index}` });
    const startedAt = performance.now();
    while (factsThere() <= index) await delay(1);
    times.push(performance.now() - startedAt);
    await delay(PAUSE_MS);
  }
  await shim.close();
  // The first fact has its own row in the results, because its time includes starting the thread and making the file.
  const [first = Number.NaN, ...later] = times;
  const row = (name: string, value: number, bar: number, more = ""): Row => ({
    ...{ name, measured: `${ms(value)}${more}`, bar: `<= ${bar} ms`, ok: value <= bar },
  });
  const worst = Math.max(...later);
  return [
    row(
      `a fact in MemPalace's graph file, the slowest of ${later.length}`,
      worst,
      BAR_MS,
      ` (median ${ms(median(later))})`,
    ),
    row("the first fact of a palace, in a file that is made for it", first, BAR_MS),
  ];
}
