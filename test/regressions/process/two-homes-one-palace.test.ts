/** Two homes with one palace had two brokers that wrote to it. A drawer deleted through one broker came back through the other broker. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { inStep, ledgerRows, status } from "../../helpers/python-rows.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const SEEN_MAX_MS = 60_000;

const texts = (palace: TestPalace): string[] => [...ledgerRows(palace).values()].map(({ text }) => text).sort();

it(
  "a broker of a second home only reads, and writes after the broker of the first home has ended",
  { timeout: 180_000 },
  async () => {
    await using first = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
    await using second = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
    const palaceDir = join(first.home, "shared");
    const model = { MEMPALACE_MODEL_DIR: writeTinyModel(join(first.home, "model")) };
    for (const { home } of [first, second]) {
      mkdirSync(join(home, ".mempalace"), { recursive: true });
      writeFileSync(join(home, ".mempalace/config.json"), JSON.stringify({ palace_path: palaceDir }));
    }
    const add = async (palace: TestPalace, content: string): Promise<string> => {
      await using shim = await palace.shim(model);
      const added = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content });
      return String(added["drawer_id"]);
    };
    await first.startBroker(model);
    const gone = await add(first, "will be deleted");
    await add(first, "of the first");
    while ((await status(first)).search.pending > 0) await delay(50);
    await inStep(first);

    await second.startBroker(model);
    await add(second, "of the second");
    await expect
      .poll(() => texts(second), { timeout: SEEN_MAX_MS })
      .toEqual(["of the first", "of the second", "will be deleted"]);
    expect((await status(second)).upstreamLock).toMatchObject({
      state: "waiting",
      detail: expect.stringContaining("of another home") as string,
    });
    {
      await using shim = await first.shim(model);
      expect(await shim.call("mempalace_delete_drawer", { drawer_id: gone })).toMatchObject({ success: true });
    }
    await expect.poll(() => texts(second), { timeout: SEEN_MAX_MS }).toEqual(["of the first", "of the second"]);
    expect(texts(first)).toEqual(["of the first"]);
    expect((await status(second)).driver.state).toBe("waiting");

    expect(await first.run("palace", ["stop"])).toMatchObject({ code: 0 });
    await expect
      .poll(async () => (await status(second)).driver, { timeout: SEEN_MAX_MS })
      .toMatchObject({ state: "synced", lag: 0 });
    expect(await second.run("palace", ["stop"])).toMatchObject({ code: 0 });
    expect(await first.run("palace", ["start"])).toMatchObject({ code: 0 });
    await expect.poll(() => texts(first), { timeout: SEEN_MAX_MS }).toEqual(["of the first", "of the second"]);
  },
);
