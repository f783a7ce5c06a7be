import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test.each([
  ["of 0 bytes", (ledger: string) => writeFileSync(ledger, "")],
  ["of other bytes", (ledger: string) => writeFileSync(ledger, "x".repeat(8192))],
  ["that is missing although its log exists", (ledger: string) => renameSync(ledger, `${ledger}-wal`)],
])("with a ledger %s start and add end with an error, and restore repairs the palace", async (_what, damage) => {
  await using palace = createTestPalace();
  const note = JSON.stringify({ wing: "w", room: "r", content: "The heron stands in the reeds." });
  expect((await palace.run("palace", ["call", "add_drawer", note])).code).toBe(0);
  const backup = join(palace.home, "backup.tar");
  expect((await palace.run("palace", ["backup", backup])).code).toBe(0);
  await palace.run("palace", ["stop"]);
  const { ledgerFile, stateDir } = palace.config.paths;
  damage(ledgerFile);
  // A new container has no state folder, so only the files in the palace's folder show that there was a ledger.
  rmSync(stateDir, { recursive: true });
  const content = (): string[] =>
    [ledgerFile, `${ledgerFile}-wal`].map((file) => (existsSync(file) ? readFileSync(file, "hex") : "none"));
  const before = content();
  for (const args of [["start"], ["call", "add_drawer", note], ["restart"]]) {
    const { code, stderr } = await palace.run("palace", args);
    expect([args[0], code, stderr]).toEqual([args[0], 7, expect.stringContaining("backup restore FILE")]);
  }
  expect(content()).toEqual(before);
  const restored = await palace.run("palace", ["backup", "restore", backup, "--yes"]);
  expect(restored, restored.stderr).toMatchObject({ code: 0 });
  expect((await palace.run("palace", ["search", "heron"])).stdout).toContain("heron");
});

test("a broker killed while it creates the ledger leaves no ledger, and the next broker creates one", async () => {
  await using palace = createTestPalace();
  const { ledgerFile } = palace.config.paths;
  const broker = await palace.run("mempalace-broker", ["--foreground"], {
    env: { MEMPALACE_FAULT: "ledger.before-place" },
  });
  expect(broker.code).not.toBe(2);
  expect(existsSync(`${ledgerFile}.new`)).toBe(true);
  expect(existsSync(ledgerFile)).toBe(false);
  await palace.startBroker();
  const client = await palace.client();
  await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: "The heron stands in the reeds." });
  client.close();
  expect(readdirSync(dirname(ledgerFile)).filter((name) => name.includes(".new"))).toEqual([]);
});
