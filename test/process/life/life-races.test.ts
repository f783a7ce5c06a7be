import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { createTestPalace, processesWith, type TestPalace } from "../../helpers/palace.ts";
import { seededRandom } from "../../helpers/random.ts";
import { assertWhole } from "../../helpers/storm.ts";

const note = (index: number): Record<string, string> => ({ wing: "life", room: "races", content: `write ${index}` });

async function brokersOf(palace: TestPalace): Promise<number> {
  await delay(50);
  return processesWith(palace.home).length;
}

test("clients that connect while the idle broker ends reach the next broker and lose no write", async () => {
  // The broker ends after a fifth of a second without clients, so each pause below may or may not end it.
  await using palace = createTestPalace({ env: { MEMPALACE_IDLE_EXIT_MINUTES: String(0.2 / 60) } });
  const random = seededRandom(11);
  const ids = new Set<string>();
  const pids = new Set<number>();
  for (let index = 0; index < 12; index++) {
    const shim = await palace.shim();
    const { drawer_id } = await shim.call("mempalace_add_drawer", note(index));
    pids.add(readBrokerFile(palace.config.paths.brokerFile)?.pid ?? 0);
    ids.add(String(drawer_id));
    await shim.close();
    // The broker checks for idleness every second. The pauses end around that moment.
    await delay(900 + random() * 400);
  }
  expect(ids.size).toBe(12);
  expect(pids.size, "no broker ended: the test shows nothing").toBeGreaterThan(2);
  await assertWhole(palace, ids);
  await expect.poll(() => brokersOf(palace), { timeout: 20_000 }).toBe(0);
});

test("a stop also ends a broker that a client is just starting, and no write is lost", async () => {
  await using palace = createTestPalace();
  const random = seededRandom(3);
  const shims = await Promise.all(Array.from({ length: 4 }, () => palace.shim()));
  const contents = new Set<string>();
  let spooled = 0;
  let stopped = false;
  const writing = Promise.all(
    shims.map(async (shim, agent) => {
      for (let index = 0; !stopped; index++) {
        const one = { ...note(index), room: `agent${agent}`, content: `agent ${agent} writes ${index}` };
        const answer = await shim.call("mempalace_add_drawer", one);
        expect(answer["success"]).toBe(true);
        contents.add(one.content);
        if (answer["spooled"] === true) spooled += 1;
        await delay(2);
      }
    }),
  );
  for (let round = 0; round < 4; round++) {
    await delay(random() * 600);
    expect((await palace.run("palace", ["stop"])).code).toBe(0);
    await delay(random() * 300);
    // A client may just have started another broker. That broker must also end.
    await expect
      .poll(() => readBrokerFile(palace.config.paths.brokerFile), { timeout: 5_000, message: "started in spite of it" })
      .toBeUndefined();
    expect((await palace.run("palace", ["start"])).code).toBe(0);
  }
  stopped = true;
  await writing;
  expect(spooled).toBeGreaterThan(0);
  await palace.run("palace", ["spool", "replay"]);
  const client = await palace.client();
  const found: string[] = [];
  for (let offset = 0; ; offset += 100) {
    const page = (await client.callTool("mempalace_list_drawers", { wing: "life", limit: 100, offset })) as {
      drawers: { content_preview: string }[];
    };
    found.push(...page.drawers.map(({ content_preview }) => content_preview));
    if (page.drawers.length < 100) break;
  }
  expect(found.toSorted()).toEqual([...contents].toSorted());
  client.close();
  for (const shim of shims) await shim.close();
});

test("running sessions keep writing through restarts of the broker, and no write is lost", async () => {
  await using palace = createTestPalace();
  const shims = await Promise.all(Array.from({ length: 4 }, () => palace.shim()));
  const ids = new Set<string>();
  let stopped = false;
  const writing = Promise.all(
    shims.map(async (shim, agent) => {
      for (let index = 0; !stopped; index++) {
        const one = { ...note(index), room: `agent${agent}`, content: `agent ${agent} writes ${index}` };
        const answer = await shim.call("mempalace_add_drawer", one);
        if (answer["spooled"] !== true) ids.add(String(answer["drawer_id"]));
      }
    }),
  );
  for (let round = 0; round < 3; round++) {
    const before = ids.size;
    expect((await palace.run("palace", ["restart"])).code).toBe(0);
    await expect.poll(() => ids.size, { timeout: 30_000 }).toBeGreaterThan(before + 20);
  }
  stopped = true;
  await writing;
  await palace.run("palace", ["spool", "replay"]);
  for (const shim of shims) expect(await shim.close()).toBe(0);
  await palace.run("palace", ["stop"]);
  await assertWhole(palace, ids);
  expect(await brokersOf(palace)).toBe(0);
});
