/**
 * Only Chroma's server, in its own container, decides which drawers are near a question. The test shows this by changing a vector there and
 * by stopping the server.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { type ChromaServer, chromaMissing, startChroma } from "../helpers/chroma-server.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { seededRandom } from "../helpers/random.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";

/** Number of drawers besides the drawer to find. There are more than a search considers, so a drawer must be near to be considered. */
const OTHERS = 250;
const SYNC_MAX_MS = 120_000;
/**
 * Text that has no word of the question. By its static vector it is farther from the question than all other texts. By the tiny model it is
 * the nearest, because text and question consist of the same pairs of letters.
 */
const TEXT = "corentinla mondisvera";
const QUESTION = "colareinnt moisrandve";

const missing = chromaMissing();
if (missing !== undefined) console.log(`left out: vectors in Chroma (${missing})`);

/** Returns a function that asks Chroma about the collection of drawers directly, without our driver. */
async function collectionOf(url: string, database: string): Promise<(verb: string, body: object) => Promise<unknown>> {
  const place = `${url}/api/v2/tenants/default_tenant/databases/${database}/collections`;
  const { id } = (await (await fetch(`${place}/mempalace_drawers`)).json()) as { id: string };
  return async (verb, body) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${place}/${id}/${verb}`, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${verb}: ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
}

describe.skipIf(missing !== undefined)("with MEMPALACE_VECTORS=chroma and Chroma in another container", () => {
  let chroma: ChromaServer;
  beforeAll(async () => {
    chroma = await startChroma();
  });
  afterAll(async () => {
    await chroma[Symbol.asyncDispose]();
  });

  it("a search finds Chroma's nearest drawers, and searches by words while Chroma is stopped or hangs", async () => {
    await using palace = createTestPalace();
    const database = await chroma.createDatabase();
    const env = {
      MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`),
      MEMPALACE_CHROMA_URL: chroma.url,
      MEMPALACE_CHROMA_DATABASE: database,
      MEMPALACE_VECTORS: "chroma",
    };
    await palace.startBroker(env);
    await using shim = await palace.shim(env);
    const id = await fill(shim);
    await synced(palace);
    expect(await searchOf(palace)).toMatchObject({ mode: "hybrid", vectors: "chroma" });

    const isFound = async (more: Record<string, unknown> = {}): Promise<boolean> => {
      const { results, ...rest } = await ask(shim, more);
      expect(rest["vector_disabled_reason"], "the vector half answers").toBeUndefined();
      return results.some((hit) => hit["drawer_id"] === id);
    };
    const ways = [{}, { wing: "near" }, { room: "door" }, { wing: "near", room: "door" }];
    for (const way of ways) expect(await isFound(way), JSON.stringify(way)).toBe(true);
    for (const way of [{ wing: "far" }, { room: "w0" }, { wing: "near", room: "w0" }])
      expect(await isFound(way), JSON.stringify(way)).toBe(false);

    // Reverses the drawer's vector only in Chroma. A search of the ledger's vectors would still find the drawer.
    const collection = await collectionOf(chroma.url, database);
    const held = (await collection("get", { ids: [id], include: ["embeddings"] })) as { embeddings: number[][] };
    const [vector = []] = held.embeddings;
    await collection("update", { ids: [id], embeddings: [vector.map((value) => -value)] });
    expect(await isFound()).toBe(false);
    // Chroma searches only within the room, where the drawer is the nearest although it is the farthest of all drawers.
    expect(await isFound({ room: "door" })).toBe(true);
    await collection("update", { ids: [id], embeddings: [vector] });
    expect(await isFound()).toBe(true);

    await chroma.kill();
    const alone = await ask(shim, {});
    expect(alone["vector_disabled_reason"]).toEqual(expect.any(String));
    expect(alone.results.filter((hit) => hit["drawer_id"] === id)).toEqual([]);
    expect((await ask(shim, { query: TEXT })).results[0]).toMatchObject({ drawer_id: id });
    await chroma.start();
    const found = async (): Promise<unknown> => (await ask(shim, {})).results[0]?.["drawer_id"];
    await expect.poll(found, { timeout: SYNC_MAX_MS }).toBe(id);

    await chroma.pause();
    expect(String((await ask(shim, {}))["vector_disabled_reason"])).toMatch(/did not answer/);
    expect(await shim.call("mempalace_check_duplicate", { content: QUESTION })).toMatchObject({
      is_duplicate: false,
      vector_disabled_reason: expect.stringMatching(/did not answer/) as string,
    });
    const items = [{ wing: "near", room: "door", content: "filed while the server hangs" }];
    expect((await shim.call("mempalace_checkpoint", { items }))["added"]).toHaveLength(1);
    await chroma.resume();
    await expect.poll(found, { timeout: SYNC_MAX_MS }).toBe(id);
    await synced(palace);
  });
});

type Answer = Record<string, unknown> & { results: Record<string, unknown>[] };

async function ask(shim: StdioMcp, more: Record<string, unknown>): Promise<Answer> {
  return (await shim.call("mempalace_search", { query: QUESTION, limit: 5, ...more })) as Answer;
}

/** Files OTHERS drawers with random letters, and a drawer with TEXT. Returns the id of the drawer with TEXT. */
async function fill(shim: StdioMcp): Promise<string> {
  const random = seededRandom(7);
  const word = (): string => Array.from({ length: 6 }, () => "bcdfghjkmpquvwxz"[Math.floor(random() * 16)]).join("");
  const add = (wing: string, room: string, content: string): Promise<Record<string, unknown>> =>
    shim.call("mempalace_add_drawer", { wing, room, content });
  const others = Array.from({ length: OTHERS }, (_, at) => ["near", "far"][at % 2] ?? "");
  await Promise.all(others.map((wing, at) => add(wing, `w${at % 3}`, `${word()} ${word()} ${word()}`)));
  return String((await add("near", "door", TEXT))["drawer_id"]);
}

async function searchOf(palace: TestPalace): Promise<Record<string, unknown>> {
  const client = await palace.client();
  try {
    return (await client.call("palace.status", {})).search;
  } finally {
    client.close();
  }
}

/** Waits until every drawer is embedded and Chroma has it. */
async function synced(palace: TestPalace): Promise<void> {
  const client = await palace.client();
  const deadline = Date.now() + SYNC_MAX_MS;
  for (;;) {
    const { driver, search } = await client.call("palace.status", {});
    if (driver.state === "synced" && driver.lag === 0 && search.pending === 0 && search.embedded > 0) break;
    if (Date.now() > deadline) throw new Error(`not in step: ${JSON.stringify({ driver, search })}`);
    await delay(50);
  }
  client.close();
}
