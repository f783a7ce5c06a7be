/** Somebody deletes the ledger's log beside a running broker: nothing that was acknowledged is lost, whenever it is killed. */
import { existsSync, renameSync, rmSync } from "node:fs";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTestPalace, exitOf } from "../../helpers/palace.ts";

const BEFORE = 20;
const AFTER = 200;
const PATIENCE = { timeout: 60_000 };

const note = (content: string): Record<string, string> => ({ wing: "w", room: "r", content });

test.each([
  ["deleted", (log: string) => rmSync(log)],
  ["moved away", (log: string) => renameSync(log, `${log}.away`)],
])(
  "a log that is %s is noticed by the next write, and a kill then takes nothing that was acknowledged",
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

test("the broker notices it without a write too, saves the log into the ledger and ends, and the next broker has all", async () => {
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
