/** The size of a log file is limited while it is written, not only when a process starts. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { logFile } from "../../../src/cli/terminal/log-rotation.ts";
import { createLog } from "../../../src/base/log.ts";

const SIZE_MAX = 200_000;

test("a process keeps at most two log files of limited size", () => {
  const folder = mkdtempSync(join(tmpdir(), "log-"));
  try {
    const log = createLog(logFile(join(folder, "broker.log"), SIZE_MAX), "info");
    for (let line = 0; line < 500; line++) log.info("request", { why: "w".repeat(1_000_000) });
    expect(readdirSync(folder).sort()).toEqual(["broker.log", "broker.log.old"]);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).size).toBeLessThan(SIZE_MAX * 1.5);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
