/**
 * Kills brokers and a real Chroma server while shims write. Only the outbox may bring Chroma to the ledger's state, because the reconciler
 * cannot read the server's files.
 */
import { once } from "node:events";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Env } from "../../src/config/env.ts";
import { type ChromaServer, chromaMissing, startChroma } from "../helpers/chroma-server.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import type { ChromaRow } from "../helpers/python-chroma.ts";
import { expectSame, inStep, ledgerRows } from "../helpers/python-rows.ts";
import { seededRandom } from "../helpers/random.ts";
import { assertWhole, storm } from "../helpers/storm.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";

const OUTBOX_POINTS = ["outbox.before-send", "outbox.after-send", "outbox.after-done"];
const ROUNDS = 48;
const SHIMS = 8;
/**
 * Rounds of one cycle. One round kills Chroma while the broker sends, and then kills the broker. A later round starts Chroma. Two more
 * rounds kill only the broker while it sends. All other rounds kill a broker, which mostly has not sent anything yet.
 */
const CYCLE = 16;
const [KILLS_CHROMA, STARTS_CHROMA, KILLS_SENDING] = [1, 4, [8, 12]];
const SEED = Number(process.env["PALACE_SEED"] ?? Date.now() % 1_000_000);
const SYNC_MAX_MS = 300_000;
const PAGE = 300;

const missing = chromaMissing();
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

  it.each(OUTBOX_POINTS)(
    "the public palace in Chroma has the ledger's rows after a broker is killed at %s",
    async (point) => {
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
    },
  );

  it(
    `ledger and Chroma have the same rows after ${ROUNDS} kills of the broker while ${SHIMS} shims write`,
    { timeout: 3_600_000 },
    async () => {
      await using palace = createTestPalace();
      const env = await environment(palace);
      let coming: Promise<void> = Promise.resolve();
      const { present, deleted, changes } = await storm(palace, {
        env,
        shims: SHIMS,
        rounds: ROUNDS,
        random: seededRandom(SEED),
        onRound: async (round) => {
          const turn = round % CYCLE;
          if (turn === KILLS_CHROMA || KILLS_SENDING.includes(turn)) {
            await coming;
            await sending(env);
          }
          if (turn === KILLS_CHROMA) await chroma.kill();
          // Chroma starts while the next rounds kill brokers.
          if (turn === STARTS_CHROMA) coming = chroma.start();
        },
      });
      await coming;
      console.log(`seed ${SEED}: ${present.size} drawers, ${changes} changes, ${deleted.size} deleted`);
      await assertWhole(palace, present, deleted);
      expect(journaled(palace)).toMatchObject({
        add_drawer: present.size + deleted.size,
        update_drawer: changes,
        delete_drawer: deleted.size,
      });
      await assertSynced(palace, env);
    },
  );
});

/** Resolves when Chroma's number of rows changes, because the broker is then sending the shims' latest writes. */
async function sending(env: Env): Promise<void> {
  const before = await chromaCount(env);
  await expect.poll(() => chromaCount(env), { timeout: SYNC_MAX_MS, interval: 5 }).not.toBe(before);
}

/** Counts the journal's rows by method. There is one row for each acknowledged write, however often it was sent. */
function journaled({ config }: TestPalace): Record<string, number> {
  const ledger = new Database(config.paths.ledgerFile, { readonly: true });
  const rows = ledger.prepare<[], [string, number]>("SELECT method, count(*) FROM journal GROUP BY method").raw().all();
  ledger.close();
  return Object.fromEntries(rows);
}

/** Waits until the outbox is empty, compares Chroma's rows with the ledger's, and asserts that only the outbox sent rows. */
async function assertSynced(palace: TestPalace, env: Env): Promise<void> {
  await using shim = await palace.shim(env);
  await shim.call("mempalace_list_wings", {});
  const { driver, strays } = await inStep(palace, SYNC_MAX_MS);
  expect(driver).toMatchObject({ kind: "chroma", state: "synced", lag: 0 });
  expect(strays).toMatchObject({ state: "off", resent: 0, taken: 0 });
  expect(new Set(palace.log().match(/"collection":"[^"]+"/g)).size, "collections that were opened").toBe(1);
  const ours = ledgerRows(palace);
  expectSame(ours, await chromaRows(env));
}

/** Asks the server directly, without the product's driver and Chroma's client. */
async function ask(env: Env, path: string, body?: object): Promise<Response> {
  const database = `tenants/default_tenant/databases/${env["MEMPALACE_CHROMA_DATABASE"]}`;
  return await fetch(`${env["MEMPALACE_CHROMA_URL"]}/api/v2/${database}/collections/${path}`, {
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    headers: { "content-type": "application/json" },
  });
}

async function collectionId(env: Env): Promise<string | undefined> {
  return ((await (await ask(env, "mempalace_drawers")).json()) as { id?: string }).id;
}

/** Returns the number of rows in Chroma, which is 0 before the collection exists. */
async function chromaCount(env: Env): Promise<number> {
  const id = await collectionId(env);
  return id === undefined ? 0 : ((await (await ask(env, `${id}/count`)).json()) as number);
}

type Page = { ids: string[]; documents: string[]; metadatas: ChromaRow["metadata"][]; embeddings: number[][] };

async function chromaRows(env: Env): Promise<Map<string, ChromaRow>> {
  const id = await collectionId(env);
  const rows = new Map<string, ChromaRow>();
  for (let offset = 0; ; offset += PAGE) {
    const include = ["documents", "metadatas", "embeddings"];
    const response = await ask(env, `${id}/get`, { limit: PAGE, offset, include });
    if (!response.ok) throw new Error(`Chroma gives no rows: ${await response.text()}`);
    const { ids, documents, metadatas, embeddings } = (await response.json()) as Page;
    ids.forEach((one, at) => {
      const row = { text: documents[at], metadata: metadatas[at], vector: embeddings[at] };
      rows.set(one, row as ChromaRow);
    });
    if (ids.length < PAGE) return rows;
  }
}
