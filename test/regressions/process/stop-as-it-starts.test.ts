/** A signal just after broker.json was written killed the broker, because the broker began to listen for signals only later. */
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
      // Polls without a pause, because after a timer the signal would come too late.
      const deadline = performance.now() + START_MAX_MS;
      while (!existsSync(brokerFile) && performance.now() < deadline) continue;
      broker.kill(signal);
      expect(await ended).toEqual([0, null]);
      expect(existsSync(brokerFile)).toBe(false);
    }
  },
);
