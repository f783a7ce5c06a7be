/** The coordination log in the broker: the look after its write-ahead log starts no thread. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { Logstream } from "../../../src/broker/palace/logstream.ts";
import { startThread } from "../../../src/platform/thread.ts";

vi.mock(import("../../../src/platform/thread.ts"), async (original) => ({
  ...(await original()),
  startThread: vi.fn<typeof startThread>(() => Promise.reject(new Error("not started in this test"))),
}));

test("the look after the write-ahead log starts no thread and makes no file", async () => {
  const palaceDir = mkdtempSync(join(tmpdir(), "logstream-"));
  const log = { error: vi.fn(), warn: vi.fn(), info: vi.fn(), debug: vi.fn() };
  const logstream = new Logstream({
    paths: { palaceDir, ledgerFile: join(palaceDir, "ledger.sqlite3") },
    serversDir: palaceDir,
    keptMs: 1,
    fault: undefined,
    log: log as never,
    onFatal: () => {},
  });
  await logstream.assertPresent();
  expect(startThread).not.toHaveBeenCalled();
  expect(readdirSync(palaceDir)).toEqual([]);
  await expect(logstream.read("event_list" as never, {})).rejects.toThrow("not started");
  expect(startThread).toHaveBeenCalledTimes(1);
  await logstream.close();
  rmSync(palaceDir, { recursive: true });
});
