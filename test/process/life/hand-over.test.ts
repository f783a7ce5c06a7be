import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { createTestPalace, processesWith } from "../../helpers/palace.ts";
import { assertWhole } from "../../helpers/storm.ts";

test("a service's broker takes over from a broker that agents started, and each write of the agents exists once", async () => {
  await using palace = createTestPalace();
  const shims = await Promise.all([palace.shim(), palace.shim(), palace.shim()]);
  const written = new Set<string>();
  let stopped = false;
  const writing = Promise.all(
    shims.map(async (shim, agent) => {
      for (let index = 0; !stopped; index++) {
        const note = { wing: "hand-over", room: `agent${agent}`, content: `agent ${agent} writes ${index}` };
        const { drawer_id } = await shim.call("mempalace_add_drawer", note);
        expect(drawer_id, "a client was left without a broker").toBeTypeOf("string");
        written.add(String(drawer_id));
      }
    }),
  );
  await expect.poll(() => written.size, { timeout: 30_000 }).toBeGreaterThan(50);
  const first = readBrokerFile(palace.config.paths.brokerFile);
  const service = await palace.startBroker();
  await expect
    .poll(() => readBrokerFile(palace.config.paths.brokerFile)?.pid, { timeout: 20_000, interval: 5 })
    .toBe(service.pid);
  expect(first?.pid).not.toBe(service.pid);
  const before = written.size;
  await expect.poll(() => written.size, { timeout: 30_000 }).toBeGreaterThan(before + 50);
  stopped = true;
  await writing;
  expect(processesWith(palace.home).filter((pid) => pid === first?.pid)).toEqual([]);
  // A second service does not displace the first service's broker.
  const second = palace.run("mempalace-broker", ["--foreground"]);
  expect((await second).code).toBe(0);
  await delay(100);
  expect(readBrokerFile(palace.config.paths.brokerFile)?.pid).toBe(service.pid);
  for (const shim of shims) await shim.close();
  service.kill("SIGTERM");
  await once(service, "exit");
  await assertWhole(palace, written);
});
