import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openLedger } from "../../../src/broker/palace/ledger.ts";
import { createMaintenance } from "../../../src/broker/palace/maintenance.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

let folder: string;
let opened: AsyncDisposableStack;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "maintenance-"));
  opened = new AsyncDisposableStack();
});
afterEach(async () => {
  await opened.disposeAsync();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ["with the driver files builds the public palace's files", "files", true],
  ["with the driver chroma builds no files", "chroma", false],
  ["with the driver none builds no files", "none", false],
])("a repair %s", async (_where, driver, isBuilt) => {
  const config = loadConfig({ HOME: folder, MEMPALACE_OFFLINE: "1", MEMPALACE_DRIVER: driver });
  const { writer } = await openLedger(config, SILENT_LOG, opened);
  const maintenance = createMaintenance({
    ...{ config, writer, lastRow: () => 0, collectionId: () => undefined },
    embedded: () => Promise.resolve(true),
    adopting: () => undefined,
    lockedBy: () => undefined,
    onReindexed: () => Promise.resolve(),
    exclusively: (work) => work(),
  });
  const palace = isBuilt ? { drawers: 0 } : null;
  expect(await maintenance.begin({ kind: "repair" }).run()).toMatchObject({ driver, palace });
  expect(existsSync(join(config.paths.palaceDir, "chroma.sqlite3"))).toBe(isBuilt);
});
