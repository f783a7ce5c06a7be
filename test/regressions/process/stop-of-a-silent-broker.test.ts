/** `palace stop` said that no broker had been running if the broker took more than two seconds to answer. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

/** Time, ms, for which the broker is suspended. A client that only looks for a broker waits less long. */
const BUSY_MS = 4_000;

test("`stop` ends a slow broker and does not report a silent broker as ended", { timeout: 90_000 }, async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  broker.kill("SIGSTOP");
  const silent = await palace.run("palace", ["stop"]);
  expect(silent.stderr).toMatch(/does not answer within \d+ s, and has not ended/);
  expect(silent.stderr).toContain(`its process is ${broker.pid}`);
  expect(silent.code).not.toBe(0);

  const stopping = palace.run("palace", ["stop", "--json"]);
  await delay(BUSY_MS);
  broker.kill("SIGCONT");
  expect(JSON.parse((await stopping).stdout)).toEqual({ stopped: true });
});
