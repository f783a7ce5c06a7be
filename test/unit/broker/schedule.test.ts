import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { noteBackup } from "../../../src/memory/backup/known-backups.ts";
import { backupName } from "../../../src/memory/backup/name.ts";
import { startSchedule } from "../../../src/broker/palace/backups.ts";
import { Jobs } from "../../../src/broker/palace/jobs.ts";
import { type Config, loadConfig } from "../../../src/config/config.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

const MINUTE_MS = 60_000;

let folder: string;
let dir: string;
let config: Config;
let madeAtMs: number[];
let end: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  folder = mkdtempSync(join(tmpdir(), "schedule-"));
  dir = join(folder, "backups");
  config = loadConfig({ HOME: folder, MEMPALACE_BACKUP_DIR: dir, MEMPALACE_BACKUP_HOURS: "1" });
  for (const path of [dir, config.paths.home]) mkdirSync(path, { recursive: true });
  madeAtMs = [];
});
afterEach(() => {
  end();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

/** Writes a backup file and records it, as the backup thread does at its end. */
function make(file: string, atMs: number): void {
  writeFileSync(file, "tar");
  noteBackup(config.paths.home, { file, madeAtMs: atMs, journalSeq: 1, bytes: 3, encrypted: false, scheduled: true });
}

function start(): void {
  end = startSchedule({
    config,
    jobs: new Jobs(SILENT_LOG),
    begin: ({ file }) => ({
      run: () => {
        madeAtMs.push(Date.now());
        make(file ?? "", Date.now());
        return Promise.resolve({});
      },
      progress: () => Promise.resolve({ step: "", done: 0, total: 0 }),
      cancel: () => {},
    }),
    isBusy: () => false,
    log: SILENT_LOG,
  });
}

test("the schedule makes each backup one interval after the previous backup", async () => {
  const nowMs = Date.now();
  for (const minutes of [150, 10])
    make(
      join(dir, backupName(config.paths.tag, new Date(nowMs - minutes * MINUTE_MS), false)),
      nowMs - minutes * MINUTE_MS,
    );
  start();
  await vi.advanceTimersByTimeAsync(49 * MINUTE_MS);
  expect(madeAtMs).toEqual([]);
  await vi.advanceTimersByTimeAsync(70 * MINUTE_MS);
  expect(madeAtMs.map((atMs) => Math.round((atMs - nowMs) / MINUTE_MS))).toEqual([50, 110]);
  expect(readdirSync(dir)).toHaveLength(4);
});

test("the schedule makes the first backup in a folder at once", async () => {
  start();
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(madeAtMs).toHaveLength(1);
});
