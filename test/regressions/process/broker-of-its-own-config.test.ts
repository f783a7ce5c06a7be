/**
 * A client whose configuration is not that of its process, as a program that uses this package may have it, started a broker
 * of the process's own home: another palace was opened, and the one that was asked for stayed without a broker for half a
 * minute, because the start mark was held. A start that comes to nothing gives its mark back now.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawnBroker } from "../../../src/wire/client/start.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { takeStarting } from "../../../src/base/state-files.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const TIMEOUT_MS = 60_000;

test("the broker that a client starts is the one of the client's configuration", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace();
  const client = await palace.client();
  client.close();
  expect(existsSync(palace.config.paths.brokerFile)).toBe(true);
});

test("a broker that ends before it serves leaves the way to the next one", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace();
  const { paths } = palace.config;
  const take = (): boolean => takeStarting(paths, TIMEOUT_MS);
  expect([take(), take()]).toEqual([true, false]);
  spawnBroker(loadConfig({ ...palace.env, NODE_OPTIONS: `--require ${join(palace.home, "nowhere.cjs")}` }));
  await expect.poll(take, { timeout: TIMEOUT_MS / 2 }).toBe(true);
});
