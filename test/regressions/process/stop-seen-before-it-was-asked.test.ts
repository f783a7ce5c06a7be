/** If a broker saw the file that `palace stop` writes and ended before it was asked to, stop said that no broker had been running. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { findBroker } from "../../../src/wire/client/discover.ts";
import { createTestPalace } from "../../helpers/palace.ts";

/** Maximum wait for the file, ms. Polls without a pause, because `stop` asks the broker a few milliseconds after it wrote the file. */
const LOOK_MAX_MS = 10_000;

it("`stop` reports a broker as stopped if its file alone ended the broker", async () => {
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
