import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Logstream } from "../../../src/broker/palace/logstream.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

let palaceDir: string;
let threads = 0;
const onThread = (): void => void (threads += 1);

beforeEach(() => {
  palaceDir = mkdtempSync(join(tmpdir(), "logstream-"));
  threads = 0;
  process.on("worker", onThread);
});
afterEach(() => {
  process.off("worker", onThread);
  rmSync(palaceDir, { recursive: true });
});

test("checking that the coordination log's files exist starts no thread and creates no file", async () => {
  const logstream = new Logstream({
    ...{ paths: { palaceDir, ledgerFile: join(palaceDir, "ledger.sqlite3") }, serversDir: palaceDir, keptMs: 1 },
    ...{ fault: undefined, log: SILENT_LOG, onFatal: () => {} },
  });
  await logstream.assertPresent();
  expect([threads, readdirSync(palaceDir)]).toEqual([0, []]);
  // The thread refuses because the ledger is missing.
  await expect(logstream.read("event_list" as never, {})).rejects.toMatchObject({ code: "PALACE_GONE" });
  expect(threads).toBe(1);
  await logstream.close();
});
