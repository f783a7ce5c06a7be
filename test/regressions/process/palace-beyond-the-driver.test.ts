/** With a palace file that SQLite can read but the driver cannot use, the reconciler waited for ever. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { inStep, ledgerRows, status } from "../../helpers/python-rows.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const TOLD_MAX_MS = 60_000;

const TIMEOUT_MS = 240_000;

it(
  "doctor names a palace file that the driver cannot use, and repair rebuilds it from the ledger",
  { timeout: TIMEOUT_MS },
  async () => {
    await using palace = createTestPalace();
    const { palaceDir } = palace.config.paths;
    await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "model")) });
    {
      await using shim = await palace.shim();
      for (let index = 0; index < 5; index++)
        await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: `drawer number ${index}` });
    }
    await inStep(palace);
    // The broker compares the palace with the ledger once, even if it has written all of the palace itself.
    await expect.poll(async () => (await status(palace)).adoption.state, { timeout: TOLD_MAX_MS }).toBe("verified");
    const rows = ledgerRows(palace);
    await palace.run("palace", ["stop"]);
    const database = new Database(join(palaceDir, "chroma.sqlite3"));
    database.exec("DROP TABLE migrations");
    database.close();

    await palace.run("palace", ["start"]);
    await expect
      .poll(async () => (await status(palace)).adoption, { timeout: TOLD_MAX_MS })
      .toMatchObject({ state: "refused", detail: expect.stringContaining("lost tables: migrations") as string });
    const doctor = await palace.run("palace", ["doctor", "--json"]);
    const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; state: string; hint: string }[] };
    expect(checks.find(({ name }) => name === "adoption")).toMatchObject({
      state: "warn",
      hint: expect.stringContaining("palace repair") as string,
    });

    const repaired = await palace.run("palace", ["repair", "--json"]);
    expect([repaired.code, repaired.stderr, repaired.code === 0 ? "" : repaired.stdout]).toEqual([0, "", ""]);
    expect(JSON.parse(repaired.stdout)).toMatchObject({ palace: { drawers: rows.size } });
    expect((await inStep(palace)).adoption).toMatchObject({ state: "verified", rows: rows.size });
    await palace.run("palace", ["stop"]);
    expect(ledgerRows(palace)).toEqual(rows);
  },
);
