import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { dumpChroma } from "../../helpers/python-chroma.ts";
import { mempalaceEnv, mempalaceMissing, startPythonChroma } from "../../helpers/python-mempalace.ts";
import { expectSame, inStep, ledgerRows } from "../../helpers/python-rows.ts";
import { seededRandom } from "../../helpers/random.ts";

const VERSION = "3.11.0";
const PER_BROKER = 40;
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: drivers in turns (${missing})`);

describe.skipIf(missing !== undefined)("drivers in turns", () => {
  it("after eight brokers with changing drivers were killed during writes, ledger and Chroma have every acknowledged write once", async () => {
    await using palace = createTestPalace();
    const { palaceDir } = palace.config.paths;
    mempalaceEnv(palace.home);
    const random = seededRandom(20_261_123);
    const filed = new Set<string>();
    let round = 0;
    const writeAndKill = async (env: Record<string, string>): Promise<void> => {
      const broker = await palace.startBroker(env);
      const shim = await palace.shim();
      round += 1;
      const writes = Array.from({ length: PER_BROKER }, async (_, at) => {
        await delay(random() * 400);
        const content = `note ${at} of broker ${round}, killed as ${env["MEMPALACE_DRIVER"]}`;
        await shim.call("mempalace_add_drawer", { wing: "w", room: `r${round}`, content });
        // Keeps the text and not the id, because on a slow machine the write may have been spooled and has no id yet.
        filed.add(content);
      });
      const dying = delay(100 + random() * 600).then(() => broker.kill("SIGKILL"));
      await Promise.allSettled([...writes, dying]);
      await shim[Symbol.asyncDispose]();
      await palace.run("palace", ["stop"]);
    };
    for (const kind of ["none", "files", "chroma", "none", "chroma", "files", "chroma", "files"] as const) {
      if (kind !== "chroma") {
        await writeAndKill({ MEMPALACE_DRIVER: kind });
        continue;
      }
      await using server = await startPythonChroma(VERSION, palace.home, palaceDir);
      await writeAndKill({ MEMPALACE_DRIVER: kind, MEMPALACE_CHROMA_URL: server.url });
    }
    expect(filed.size).toBeGreaterThan(PER_BROKER);
    await palace.startBroker({ MEMPALACE_DRIVER: "files" });
    await palace.run("palace", ["spool", "replay"]);
    await inStep(palace);
    const ours = ledgerRows(palace);
    const texts = [...ours.values()].map(({ text }) => text);
    for (const content of filed) expect(texts.filter((text) => text === content)).toEqual([content]);
    expectSame(ours, await dumpChroma(VERSION, palace.home, join(palaceDir)));
  });
});
