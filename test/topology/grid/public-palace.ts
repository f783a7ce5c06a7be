import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { StatusReport } from "../../../src/protocol/spec.ts";
import { dumpChroma } from "../../helpers/python-chroma.ts";
import { expectSame, ledgerRowsIn } from "../../helpers/python-rows.ts";
import type { World } from "./world.ts";

const SYNC_MAX_MS = 300_000;

/**
 * Asserts that Chroma of MemPalace 3.11 reads the same ids, texts, metadata and vectors as the ledger has, and that no file was moved away
 * as damaged. Stops every process that writes to the palace.
 */
export async function assertPublicPalace(world: World): Promise<void> {
  await expect
    .poll(
      async () => {
        const { driver, search } = JSON.parse(await world.status()) as StatusReport;
        return { state: driver.state, lag: driver.lag, pending: search.pending };
      },
      { timeout: SYNC_MAX_MS, interval: 1_000 },
    )
    .toEqual({ state: "synced", lag: 0, pending: 0 });
  await world.stopWriters();
  const folder = mkdtempSync(join(tmpdir(), "palace-end-"));
  try {
    const names = readdirSync(world.home).filter((name) => name === "palace" || name.startsWith("ledger.sqlite3"));
    for (const name of names) cpSync(join(world.home, name), join(folder, name), { recursive: true });
    const damaged = readdirSync(folder, { recursive: true }).filter((name) => /\.(drift|corrupt)/.test(String(name)));
    expect(damaged, "moved away as damaged").toEqual([]);
    const ours = ledgerRowsIn(join(folder, "ledger.sqlite3"));
    expect(ours.size, "drawers").toBeGreaterThan(0);
    expectSame(ours, await dumpChroma("3.11.0", folder, join(folder, "palace")));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
