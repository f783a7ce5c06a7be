import { statSync } from "node:fs";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { openForWriting } from "../../../src/memory/ledger/open.ts";
import { createTestPalace, exitOf } from "../../helpers/palace.ts";

const DRAWERS = 40;
/** Size of the free space, bytes. It is several times the size of the drawers, because new drawers use free pages first. */
const FREE_BYTES = 20 * 1024 * 1024;

/** Makes a ledger as older versions did, with free pages that only a full rewrite returns to the disk. */
function beginWithFreePages(file: string): void {
  openForWriting(file).close();
  const database = new Database(file);
  database.exec("PRAGMA auto_vacuum = NONE; VACUUM; CREATE TABLE made_before (a)");
  database.exec(`INSERT INTO made_before VALUES (zeroblob(${FREE_BYTES})); DROP TABLE made_before`);
  database.close();
}

it("compact rewrites the ledger while an agent keeps writing, frees its space, and keeps every drawer", async () => {
  await using palace = createTestPalace();
  const { ledgerFile } = palace.config.paths;
  beginWithFreePages(ledgerFile);
  await palace.startBroker();
  await using shim = await palace.shim();
  const add = async (content: string): Promise<string> =>
    String((await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content }))["drawer_id"]);
  const ids = await Promise.all(Array.from({ length: DRAWERS }, (_, at) => add(`${at} ${"long ".repeat(5_000)}`)));
  for (const id of ids.splice(5)) await shim.call("mempalace_delete_drawer", { drawer_id: id });

  const [{ code, stdout }, during] = await Promise.all([
    palace.run("palace", ["compact", "--json"]),
    Promise.all(Array.from({ length: DRAWERS }, (_, at) => add(`beside it ${at}`))),
  ]);

  expect(code).toBe(0);
  const { beforeBytes, afterBytes } = JSON.parse(stdout) as { beforeBytes: number; afterBytes: number };
  expect(beforeBytes).toBeGreaterThanOrEqual(FREE_BYTES);
  expect(afterBytes).toBeLessThan(beforeBytes / 2);
  for (const id of [...ids, ...during])
    expect(await shim.call("mempalace_get_drawer", { drawer_id: id })).toMatchObject({ drawer_id: id });
  expect((await palace.run("palace", ["compact"])).stdout).toMatch(/^ledger: .+ before, .+ now/);
  expect(statSync(ledgerFile).size).toBeLessThan(beforeBytes / 2);
});

it.each(["erase.before-rewrite", "erase.after-rewrite", "compact.after-rewrite"])(
  "a broker killed at %s loses no drawer, and a second compact succeeds",
  async (point) => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker({ MEMPALACE_FAULT: point });
    await using shim = await palace.shim();
    const { drawer_id } = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: "kept" });
    const { code } = await palace.run("palace", ["compact"]);
    expect(code).not.toBe(0);
    expect((await exitOf(broker))[1]).toBe("SIGKILL");
    expect((await palace.run("palace", ["compact"])).code).toBe(0);
    expect(await shim.call("mempalace_get_drawer", { drawer_id })).toMatchObject({ content: "kept" });
  },
);
