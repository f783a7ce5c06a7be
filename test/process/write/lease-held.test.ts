/** Tests our broker beside a MemPalace 3.11 that has written, and therefore locks the palace until it ends. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { dumpChroma } from "../../helpers/python-chroma.ts";
import { mempalaceEnv, mempalaceMissing, openMempalace } from "../../helpers/python-mempalace.ts";
import { expectSame, inStep, ledgerRows, status } from "../../helpers/python-rows.ts";

const VERSION = "3.11.0";
const SEEN_MAX_MS = 60_000;
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: a lease that is held (${missing})`);

it.skipIf(missing !== undefined)(
  "our memory adopts the new and changed drawers of a MemPalace that locks the palace",
  async () => {
    await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
    mempalaceEnv(palace.home);
    const { palaceDir } = palace.config.paths;
    const theirs = await openMempalace(VERSION, { home: palace.home, palace: palaceDir });
    const file = async (content: string): Promise<string> =>
      String((await theirs.call("add_drawer", { wing: "theirs", room: "r", content }))["drawer_id"]);
    const [gone, changed] = [await file("will be deleted"), await file("will be changed"), await file("stays")];

    // The first answer must have MemPalace's drawers, and must not call the palace empty.
    await palace.startBroker();
    await using shim = await palace.shim();
    expect(await shim.call("mempalace_status", {})).toMatchObject({ total_drawers: 3 });
    expect(await status(palace)).toMatchObject({
      ...{ adoption: { state: "verified", rows: 3 }, driver: { state: "waiting" }, upstreamLock: { state: "waiting" } },
    });
    expect(await shim.call("mempalace_add_drawer", { wing: "ours", room: "r", content: "ours" })).toMatchObject({
      success: true,
    });

    expect(await theirs.call("delete_drawer", { drawer_id: gone })).toMatchObject({ success: true });
    expect(await theirs.call("update_drawer", { drawer_id: changed, content: "was changed" })).toMatchObject({
      success: true,
    });
    const later = await file("later");
    const texts = (): string[] => [...ledgerRows(palace).values()].map(({ text }) => text).sort();
    await expect.poll(texts, { timeout: SEEN_MAX_MS }).toEqual(["later", "ours", "stays", "was changed"]);

    // MemPalace deletes a drawer and ends, before we compare the palace again.
    expect(await theirs.call("delete_drawer", { drawer_id: later })).toMatchObject({ success: true });
    await theirs[Symbol.asyncDispose]();
    await expect.poll(texts, { timeout: SEEN_MAX_MS }).toEqual(["ours", "stays", "was changed"]);
    while ((await status(palace)).search.pending > 0) await delay(50);
    await inStep(palace);
    await expect
      .poll(async () => (await status(palace)).driver, { timeout: SEEN_MAX_MS })
      .toMatchObject({ state: "synced", lag: 0 });
    const seen = await dumpChroma(VERSION, palace.home, palaceDir);
    expect([...seen.values()].map(({ text }) => text).sort()).toEqual(["ours", "stays", "was changed"]);
    expectSame(ledgerRows(palace), seen);
  },
);
