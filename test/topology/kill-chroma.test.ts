/**
 * The kill test with the chroma driver attached to a real Chroma server, which is killed too: the ledger loses nothing, and
 * when all is quiet the public palace holds exactly the ledger's drawers.
 */
import { once } from "node:events";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SILENT_LOG } from "../../src/platform/log.ts";
import { createChromaDriver } from "../../src/public-palace/driver/chroma.ts";
import { type ChromaServer, chromaMissing, startChroma } from "../helpers/chroma-server.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { seededRandom } from "../helpers/random.ts";
import { assertWhole, storm } from "../helpers/storm.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";

const OUTBOX_POINTS = ["outbox.before-send", "outbox.after-send", "outbox.after-done"];
const ROUNDS = 12;
const SEED = Number(process.env["PALACE_SEED"] ?? Date.now() % 1_000_000);
const SYNC_MAX_MS = 120_000;

const missing = await chromaMissing();
if (missing !== undefined) console.log(`left out: kills with Chroma (${missing})`);

describe.skipIf(missing !== undefined)("with a public palace in Chroma", () => {
  let chroma: ChromaServer;
  beforeAll(async () => {
    chroma = await startChroma();
  });
  afterAll(async () => {
    await chroma[Symbol.asyncDispose]();
  });

  const environment = async (palace: TestPalace): Promise<Record<string, string>> => ({
    MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`),
    MEMPALACE_CHROMA_URL: chroma.url,
    MEMPALACE_CHROMA_DATABASE: await chroma.createDatabase(),
  });

  it.each(OUTBOX_POINTS)("a broker killed at %s leaves the palace to be caught up exactly", async (point) => {
    await using palace = createTestPalace();
    const env = await environment(palace);
    const broker = await palace.startBroker({ ...env, MEMPALACE_FAULT: point });
    const died = once(broker, "exit");
    await using shim = await palace.shim(env);
    for (let index = 0; index < 20; index++) {
      await shim.call("mempalace_add_drawer", { wing: "kill", room: "chroma", content: `${point} ${index}` });
    }
    await died;
    await shim.call("mempalace_add_drawer", { wing: "kill", room: "chroma", content: `${point} afterwards` });
    await assertSynced(palace, env);
  });

  it(
    `brokers and Chroma killed ${ROUNDS} times under a storm end with the same drawers on both sides`,
    { timeout: 600_000 },
    async () => {
      await using palace = createTestPalace();
      const env = await environment(palace);
      const { present, deleted } = await storm(palace, {
        env,
        shims: 4,
        rounds: ROUNDS,
        random: seededRandom(SEED),
        onRound: async (round) => {
          if (round % 4 === 1) await chroma.kill();
          if (round % 4 === 3) await chroma.start();
        },
      });
      console.log(`seed ${SEED}: ${present.size} drawers, ${deleted.size} deleted`);
      await assertWhole(palace, present, deleted);
      await assertSynced(palace, env);
    },
  );
});

/** Waits until nothing is owed, then holds Chroma's own ids against the ledger's. */
async function assertSynced(palace: TestPalace, env: Readonly<Record<string, string>>): Promise<void> {
  await using shim = await palace.shim(env);
  await shim.call("mempalace_list_wings", {});
  const client = await palace.client();
  await expect
    .poll(async () => (await client.call("palace.status", {})).driver, { timeout: SYNC_MAX_MS, interval: 200 })
    .toMatchObject({ state: "synced", lag: 0 });
  client.close();
  const driver = createChromaDriver({
    chroma: {
      url: env["MEMPALACE_CHROMA_URL"] ?? "",
      token: undefined,
      tenant: "default_tenant",
      database: env["MEMPALACE_CHROMA_DATABASE"] ?? "",
    },
    log: SILENT_LOG,
  });
  await driver.open();
  const theirs = await driver.ids(0, 100_000);
  await driver.close();
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const ours = ledger.prepare<[], string>("SELECT id FROM drawer").pluck().all();
  ledger.close();
  expect(theirs.sort()).toEqual(ours.sort());
}
