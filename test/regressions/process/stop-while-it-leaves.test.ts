/** `palace stop` failed with "no broker is running" if a broker ended by itself while it was asked to end. */
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { stopBroker } from "../../../src/wire/client/stop.ts";
import { PROTOCOL } from "../../../src/protocol/version.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("`stop` succeeds if the broker is just ending by itself", async () => {
  await using palace = createTestPalace();
  const { home, brokerFile, socketPath } = palace.config.paths;
  for (const folder of [home, dirname(socketPath)]) mkdirSync(folder, { recursive: true });
  const health = { instanceId: "one", version: "1.0.0", protocol: PROTOCOL, status: "ready" };
  const leaving = createServer((_request, response) => {
    response.setHeader("connection", "close").end(JSON.stringify(health));
    leaving.close();
    rmSync(brokerFile);
  }).listen(socketPath);
  await once(leaving, "listening");
  const door = { kind: "unix", path: socketPath };
  writeFileSync(brokerFile, JSON.stringify({ schema: 1, ...health, doors: [door] }));
  await expect(stopBroker(palace.config)).resolves.toMatchObject({ stopped: true });
});
