/** A client that had looked for a broker too early started a second broker, which the palace's lock then ended. */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findBroker } from "../../../src/wire/client/discover.ts";
import { ensureBroker } from "../../../src/wire/client/start.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("a client looks for a broker again immediately before it starts one", async () => {
  await using palace = createTestPalace();
  const { home, brokerFile } = palace.config.paths;
  mkdirSync(home, { recursive: true });
  const path = join(home, "former.sock");
  const former = createServer().listen(path);
  await once(former, "listening");
  writeFileSync(brokerFile, JSON.stringify({ schema: 1, instanceId: "former", doors: [{ kind: "unix", path }] }));
  const asking = once(former, "connection") as Promise<[Socket]>;
  const late = ensureBroker(palace.config);
  const [socket] = await asking;
  writeFileSync(brokerFile, "");
  const { health, started } = await ensureBroker(palace.config);
  expect(started).toBe(true);
  socket.destroy();
  expect(await late).toMatchObject({ started: false, health: { instanceId: health.instanceId } });
  expect(await findBroker(palace.config)).toBeDefined();
  former.close();
});
