/**
 * A broker that got a signal just after broker.json named it was killed by the signal, without an exit code, because it listened for
 * signals a little later. Found by the grid's scenario `host-takes-over`, which ends that broker at once.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const ROUNDS = 5;
const START_MAX_MS = 30_000;

test.each(["SIGTERM", "SIGINT"] as const)(
  "a broker ends cleanly if %s arrives right after its start",
  async (signal) => {
    for (let round = 0; round < ROUNDS; round++) {
      await using palace = createTestPalace();
      const { brokerFile } = palace.config.paths;
      const args = [palace.executable("mempalace-broker"), "--foreground"];
      const broker = spawn(process.execPath, args, { env: palace.env, stdio: "ignore" });
      const ended = once(broker, "exit");
      // Looks for the file without a pause, because the signal would come too late after a timer.
      const deadline = performance.now() + START_MAX_MS;
      while (!existsSync(brokerFile) && performance.now() < deadline) continue;
      broker.kill(signal);
      expect(await ended).toEqual([0, null]);
      expect(existsSync(brokerFile)).toBe(false);
    }
  },
);
