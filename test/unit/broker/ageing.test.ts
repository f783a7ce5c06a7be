/** After its start a broker deletes expired memories in a separate write. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type AgeingOptions, startAgeing } from "../../../src/broker/palace/ageing.ts";
import { WriteQueue } from "../../../src/broker/palace/write-queue.ts";
import { applyWrite } from "../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../src/memory/ledger/write/group-commit.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

const HOUR_MS = 3_600_000;
const PATIENCE = { timeout: 60_000 };

let folder: string;
let writer: LedgerWriter;
let reader: SqliteLedgerReader;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  folder = mkdtempSync(join(tmpdir(), "ageing-"));
  writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
  reader = new SqliteLedgerReader(join(folder, "ledger.sqlite3"));
});
afterEach(() => {
  vi.useRealTimers();
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

function record(takeaway: string, ageMs: number): void {
  const peer = { agent: "ada", door: "unix", uid: 0, pid: 1 };
  const call = { key: takeaway, isRepeatable: true, method: "outcome.record", peer, requestId: "r" };
  writer.commit([{ ...call, params: { key_takeaway: takeaway }, atMs: Date.now() - ageMs }]);
}

test("at its start a broker deletes an unscored memory that is 25 hours old, and keeps a memory of the last hour", async () => {
  record("The old port is 4711", 25 * HOUR_MS);
  record("The new port is 4712", HOUR_MS);
  // Ageing calls only this method of the thread.
  const call = (_method: "putMeta", key: string, value: string): Promise<void> =>
    Promise.resolve(writer.putMeta(key, value));
  const end = startAgeing({
    reader,
    queue: new WriteQueue({ commit: (calls) => Promise.resolve(writer.commit(calls)), onCommit: () => {} }),
    writer: { call: call as AgeingOptions["writer"]["call"] },
    log: SILENT_LOG,
  });
  try {
    await vi.advanceTimersByTimeAsync(2_000);
    await vi.waitFor(() => expect(reader.drawerCount()).toBe(1), PATIENCE);
    expect(reader.newestDrawers(undefined, 9)).toMatchObject([{ text: "Key takeaway: The new port is 4712" }]);
  } finally {
    end();
  }
});
