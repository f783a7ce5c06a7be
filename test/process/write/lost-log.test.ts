import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";

const BEFORE = 20;
const AFTER = 200;
const PATIENCE = { timeout: 60_000 };

const DAMAGES: [string, (log: string) => void][] = [
  ["deleted", (log) => rmSync(log)],
  ["moved away", (log) => renameSync(log, `${log}.away`)],
];

const note = (content: string): Record<string, string> => ({ wing: "w", room: "r", content });

const event = (body: string): Record<string, string> => ({
  ...{ type: "task.request", stream: "project/p", room: "delegation", from_agent: "a", body },
});
const coordinationLog = (palace: TestPalace): string => join(palace.config.paths.palaceDir, "logstream.sqlite3");

function eventsIn(file: string): string[] {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare<[], string>("SELECT id FROM events ORDER BY rowid").pluck().all();
  } finally {
    database.close();
  }
}

test.each(DAMAGES)(
  "the next write notices that the ledger's -wal was %s, and a kill then loses no acknowledged write",
  async (_how, damage) => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    const client = await palace.client();
    const acknowledged: string[] = [];
    const write = async (content: string): Promise<void> => {
      const { drawer_id: id } = (await client.callTool("mempalace_add_drawer", note(content))) as { drawer_id: string };
      acknowledged.push(id);
    };
    for (let at = 0; at < BEFORE; at++) await write(`before ${at}`);
    damage(`${palace.config.paths.ledgerFile}-wal`);
    let refused: unknown;
    for (let at = 0; at < AFTER && refused === undefined; at++)
      await write(`after ${at}`).catch((error: unknown) => (refused = error));
    broker.kill("SIGKILL");
    await exitOf(broker);
    client.close();
    expect(refused).toMatchObject({ code: "PALACE_GONE", hint: expect.stringContaining("palace restart") as string });
    await palace.startBroker();
    const next = await palace.client();
    for (const id of acknowledged)
      expect(await next.callTool("mempalace_get_drawer", { drawer_id: id })).toHaveProperty("content");
    expect(await next.callTool("mempalace_add_drawer", note("written again"))).toMatchObject({ success: true });
    next.close();
  },
  120_000,
);

test("if the ledger's -wal is deleted, the broker notices even without a write, moves the -wal's content into the ledger and ends; the next broker has all writes", async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  await using shim = await palace.shim();
  for (let at = 0; at < BEFORE; at++) await shim.call("mempalace_add_drawer", note(`before ${at}`));
  const { ledgerFile } = palace.config.paths;
  rmSync(`${ledgerFile}-wal`);
  await exitOf(broker);
  expect(existsSync(`${ledgerFile}-wal`)).toBe(false);
  const ledger = new Database(ledgerFile, { readonly: true });
  expect(ledger.prepare("SELECT count(*) FROM drawer").pluck().get()).toBe(BEFORE);
  ledger.close();
  await expect
    .poll(() => shim.call("mempalace_list_drawers", {}).catch(() => undefined), PATIENCE)
    .toMatchObject({ total: BEFORE });
  expect(await shim.call("mempalace_add_drawer", note("written again"))).toMatchObject({ success: true });
}, 300_000);

test.each(DAMAGES)(
  "the next event notices that the coordination log's -wal was %s, and a kill then loses no acknowledged event",
  async (_how, damage) => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    const client = await palace.client();
    const acknowledged: string[] = [];
    const append = async (body: string): Promise<void> => {
      const answer = (await client.callTool("mempalace_event_append", event(body))) as { event: { id: string } };
      acknowledged.push(answer.event.id);
    };
    for (let at = 0; at < BEFORE; at++) await append(`before ${at}`);
    const file = coordinationLog(palace);
    damage(`${file}-wal`);
    let refused: unknown;
    for (let at = 0; at < AFTER && refused === undefined; at++)
      await append(`after ${at}`).catch((error: unknown) => (refused = error));
    broker.kill("SIGKILL");
    await exitOf(broker);
    client.close();
    expect(acknowledged.filter((id) => !eventsIn(file).includes(id))).toHaveLength(0);
    expect(refused).toMatchObject({ code: "PALACE_GONE", hint: expect.stringContaining("palace restart") as string });
    await palace.startBroker();
    const next = await palace.client();
    expect(await next.callTool("mempalace_event_list", {})).toMatchObject({ events: { length: BEFORE } });
    expect(await next.callTool("mempalace_event_append", event("again"))).toMatchObject({ event: { seq: BEFORE + 1 } });
    next.close();
  },
  120_000,
);

test("if the coordination log's -wal is deleted, the broker notices even without an event and ends; the next broker has all events", async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  await using shim = await palace.shim();
  for (let at = 0; at < BEFORE; at++) await shim.call("mempalace_event_append", event(`before ${at}`));
  const file = coordinationLog(palace);
  rmSync(`${file}-wal`);
  await exitOf(broker);
  expect(existsSync(`${file}-wal`)).toBe(false);
  expect(eventsIn(file)).toHaveLength(BEFORE);
  await expect
    .poll(() => shim.call("mempalace_event_list", {}).catch(() => undefined), PATIENCE)
    .toMatchObject({ events: { length: BEFORE } });
  expect(await shim.call("mempalace_event_append", event("again"))).toMatchObject({ event: { seq: BEFORE + 1 } });
}, 300_000);
