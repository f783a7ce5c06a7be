/** Measures the time from a broker's death to the next answer in the same session. The shim starts another broker and repeats the call. */
import { readBrokerFile } from "../../src/wire/client/discover.ts";
import { createTestPalace } from "../helpers/palace.ts";
import { median, ms, type Row } from "./measure.ts";

const KILLS = 20;
const BAR_MS = 1_500;

export async function bench(): Promise<Row[]> {
  await using palace = createTestPalace({ built: true });
  const shim = await palace.shim();
  await shim.call("mempalace_add_drawer", { wing: "bench", room: "reconnect", content: "before the first kill" });
  const times: number[] = [];
  for (let round = 0; round < KILLS; round++) {
    const broker = readBrokerFile(palace.config.paths.brokerFile);
    if (broker === undefined) throw new Error("no broker.json");
    const startedAt = performance.now();
    process.kill(broker.pid, "SIGKILL");
    await shim.call("mempalace_add_drawer", { wing: "bench", room: "reconnect", content: `after kill ${round}` });
    times.push(performance.now() - startedAt);
  }
  await shim.close();
  const p95 = times.toSorted((a, b) => a - b)[Math.ceil(KILLS * 0.95) - 1] ?? Number.NaN;
  return [
    {
      name: `answer after a broker kill, p95 of ${KILLS}`,
      measured: `${ms(p95)} (median ${ms(median(times))})`,
      bar: `<= ${BAR_MS} ms`,
      ok: p95 <= BAR_MS,
    },
  ];
}
