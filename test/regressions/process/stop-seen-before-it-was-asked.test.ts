/**
 * `palace stop` leaves its mark and then asks the broker to end. A broker that saw the mark in between ended by itself, and stop said that
 * no broker had been running. Found under load by test/process/cli/cli.test.ts.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { findBroker } from "../../../src/wire/client/discover.ts";
import { createTestPalace } from "../../helpers/palace.ts";

/** Maximum time to wait for the mark, ms. The test polls without a pause: mark and request are a few milliseconds apart. */
const LOOK_MAX_MS = 10_000;

it("`stop` reports a broker as stopped if the stop mark alone ended it", async () => {
  await using palace = createTestPalace();
  const { config } = palace;
  expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
  const stop = spawn(process.execPath, [palace.executable("palace"), "stop", "--json"], {
    env: palace.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = text(stop.stdout);
  const ended = once(stop, "exit");
  const mark = join(config.paths.stateDir, `${config.paths.tag}.stopped`);
  for (const until = Date.now() + LOOK_MAX_MS; !existsSync(mark) && Date.now() < until;);
  stop.kill("SIGSTOP");
  try {
    while ((await findBroker(config)) !== undefined) await sleep(50);
  } finally {
    stop.kill("SIGCONT");
  }
  await ended;
  expect(JSON.parse(await said)).toEqual({ stopped: true });
});
