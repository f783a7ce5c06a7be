/** A `palace restart` that was interrupted while the broker ended left the file of `palace stop`, so agents did not start a broker. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { isStopped } from "../../../src/base/state-files.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test.each(["SIGINT", "SIGHUP"] as const)(
  "a restart interrupted by %s does not count as a stop by hand",
  { timeout: 60_000 },
  async (signal) => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    // Keeps the broker from ending before the signal.
    broker.kill("SIGSTOP");
    const restart = spawn(process.execPath, [palace.executable("palace"), "restart"], {
      env: palace.env,
      stdio: "ignore",
    });
    await expect.poll(() => isStopped(palace.config.paths)).toBe(true);
    restart.kill(signal);
    await once(restart, "exit");
    broker.kill("SIGCONT");
    expect(isStopped(palace.config.paths)).toBe(false);
  },
);
