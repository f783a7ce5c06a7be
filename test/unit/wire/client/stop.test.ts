import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stopBroker } from "../../../../src/wire/client/stop.ts";
import { loadConfig } from "../../../../src/config/config.ts";
import { isStopped } from "../../../../src/base/state-files.ts";

let folder: string;

beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "stop-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("stopping an absent broker prevents later starts", async () => {
  const config = loadConfig({ HOME: folder });
  expect(await stopBroker(config)).toEqual({ stopped: false, staysOff: true });
  expect(isStopped(config.paths)).toBe(true);
});

test("stopping an absent broker at the address in MEMPALACE_BROKER does not prevent starts", async () => {
  const config = loadConfig({ HOME: folder, MEMPALACE_BROKER: `unix:${join(folder, "none.sock")}` });
  expect(await stopBroker(config)).toEqual({ stopped: false, staysOff: false });
  expect(isStopped(config.paths)).toBe(false);
});
