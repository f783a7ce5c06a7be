/** A client started the broker of its environment, not of its configuration. The file `starting` then delayed the right broker. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawnBroker } from "../../../src/wire/client/start.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { takeStarting } from "../../../src/base/state-files.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const TIMEOUT_MS = 60_000;

test("a client starts the broker of its configuration", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace();
  const client = await palace.client();
  client.close();
  expect(existsSync(palace.config.paths.brokerFile)).toBe(true);
});

test("a broker that ends during its start does not block the next start", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace();
  const { paths } = palace.config;
  const take = (): boolean => takeStarting(paths, TIMEOUT_MS);
  expect([take(), take()]).toEqual([true, false]);
  spawnBroker(loadConfig({ ...palace.env, NODE_OPTIONS: `--require ${join(palace.home, "nowhere.cjs")}` }));
  await expect.poll(take, { timeout: TIMEOUT_MS / 2 }).toBe(true);
});
