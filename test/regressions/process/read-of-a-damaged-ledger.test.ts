/** A read of a damaged page of the ledger was answered with "Internal tool error", without a code and a hint. */
import { closeSync, openSync, writeSync } from "node:fs";
import { once } from "node:events";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("a read of a damaged page reports the damaged ledger and how to restore it", async () => {
  await using palace = createTestPalace();
  const before = await palace.startBroker();
  const writer = await palace.client();
  const note = { wing: "w", room: "r", content: "a note that cannot be read any more" };
  const { drawer_id } = (await writer.callTool("mempalace_add_drawer", note)) as { drawer_id: string };
  writer.close();
  before.kill("SIGTERM");
  await once(before, "exit");
  damageDrawers(palace.config.paths.ledgerFile);
  await palace.startBroker();
  const client = await palace.client();
  for (const [tool, params] of Object.entries({ get_drawer: { drawer_id }, list_drawers: {} }))
    await expect(client.callTool(`mempalace_${tool}`, params), tool).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      hint: expect.stringContaining("palace backup restore") as string,
    });
  client.close();
});

/** Overwrites the first page of the table of drawers, which the broker does not read at its start. */
function damageDrawers(file: string): void {
  const database = new Database(file);
  database.pragma("wal_checkpoint(TRUNCATE)");
  const sizeBytes = database.pragma("page_size", { simple: true }) as number;
  const page = database.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'drawer'").pluck().get() as number;
  database.close();
  const handle = openSync(file, "r+");
  writeSync(handle, Buffer.alloc(sizeBytes, 0xff), 0, sizeBytes, (page - 1) * sizeBytes);
  closeSync(handle);
}
