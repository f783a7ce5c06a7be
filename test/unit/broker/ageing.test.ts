/** After its start a broker deletes expired memories in a separate write, and keeps the memories that a person restored. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type AgeingOptions, startAgeing } from "../../../src/broker/palace/ageing.ts";
import { WriteQueue } from "../../../src/broker/palace/write-queue.ts";
import { AGED_MAX } from "../../../src/learning/scoring/retention.ts";
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

function write(method: string, params: object, { key, ageMs = 0 }: { key: string; ageMs?: number }): void {
  const peer = { agent: "ada", door: "unix", uid: 0, pid: 1 };
  const call = { key, isRepeatable: true, method, peer, requestId: "r", params: { ...params } };
  const [done] = writer.commit([{ ...call, atMs: Date.now() - ageMs }]).outcomes;
  expect(done?.outcome).toMatchObject({ ok: true });
}

function record(takeaway: string, ageMs: number): void {
  write("outcome.record", { key_takeaway: takeaway }, { key: takeaway, ageMs });
}

function start(): () => void {
  // Ageing calls only this method of the thread.
  const call = (_method: "putMeta", key: string, value: string): Promise<void> =>
    Promise.resolve(writer.putMeta(key, value));
  return startAgeing({
    reader,
    queue: new WriteQueue({ commit: (calls) => Promise.resolve(writer.commit(calls)), onCommit: () => {} }),
    writer: { call: call as AgeingOptions["writer"]["call"] },
    log: SILENT_LOG,
  });
}

/** Runs the ageing until `count` drawers are left. */
async function ageUntil(count: number): Promise<void> {
  const end = start();
  try {
    await vi.advanceTimersByTimeAsync(2_000);
    await vi.waitFor(() => expect(reader.drawerCount()).toBe(count), PATIENCE);
  } finally {
    end();
  }
}

test("at its start a broker deletes an unscored memory that is 25 hours old, and keeps a memory that is one hour old", async () => {
  record("The old port is 4711", 25 * HOUR_MS);
  record("The new port is 4712", HOUR_MS);
  await ageUntil(1);
  expect(reader.newestDrawers(undefined, 9)).toMatchObject([{ text: "Key takeaway: The new port is 4712" }]);
});

test("two hundred memories that a person restored stay, and a broker still deletes memories that expired later", async () => {
  for (let at = 0; at < AGED_MAX; at++) record(`Restored memory ${at}`, 25 * HOUR_MS);
  await ageUntil(0);
  write("memory.undo", { agent: "palace ageing", sinceMs: 0, untilMs: Date.now() }, { key: "undo" });
  expect(reader.drawerCount()).toBe(AGED_MAX);
  record("Expired since then", 25 * HOUR_MS);
  await ageUntil(AGED_MAX);
  const left = reader.newestDrawers(undefined, AGED_MAX).map(({ text }) => text);
  expect(left.every((text) => text.startsWith("Key takeaway: Restored"))).toBe(true);
});

test("a fact that expired and is stored again expires again", async () => {
  const fact = { facts: ["The build needs Node 24"] };
  for (const key of ["first", "second"]) {
    write("outcome.score", fact, { key, ageMs: 25 * HOUR_MS });
    expect(reader.drawerCount()).toBe(1);
    await ageUntil(0);
  }
});
