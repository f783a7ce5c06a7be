/** Compares one durable write of a warm broker with one fdatasync on the same disk. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createTestPalace } from "../helpers/palace.ts";
import { atMost, ms, type Row, timeBoth } from "./measure.ts";

export async function bench(): Promise<Row[]> {
  await using palace = createTestPalace({ built: true });
  await palace.startBroker();
  const client = await palace.client();
  const text = "A note of ordinary length, as an agent would write it after a while of work on something. ".repeat(4);
  const page = Buffer.alloc(4096, 1);
  const fd = openSync(join(palace.home, "sync-probe"), "w");
  const add = (round: number | string): Promise<unknown> =>
    client.callTool("mempalace_add_drawer", { wing: "bench", room: "write", content: `${round} ${text}` });
  // These writes are not measured: Node compiles code during the first hundreds of writes, but a broker runs for days.
  for (let round = 0; round < 400; round++) await add(`warm ${round}`);
  const { one, other } = await timeBoth(600, add, () => {
    writeSync(fd, page);
    fdatasyncSync(fd);
  });
  closeSync(fd);
  client.close();
  return [atMost("add_drawer, acknowledged / one fdatasync", one / other, 5, `${ms(one)} / ${ms(other)}`)];
}
