/** A client without a token dialled a new broker's TCP door before the socket answered, and reported a wrong token. */
import { once } from "node:events";
import { writeFileSync, mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { openStream } from "../../../src/wire/client/discover.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("a client without a token does not connect to a published TCP door", async () => {
  await using palace = createTestPalace();
  let asked = 0;
  const door = createServer((_request, response) => {
    asked += 1;
    response.writeHead(401).end();
  }).listen(0, "127.0.0.1");
  await once(door, "listening");
  const { port } = door.address() as AddressInfo;
  const { home, brokerFile, socketPath } = palace.config.paths;
  mkdirSync(home, { recursive: true });
  const doors = [
    { kind: "unix", path: socketPath },
    { kind: "tcp", host: "127.0.0.1", port },
  ];
  writeFileSync(brokerFile, JSON.stringify({ schema: 1, instanceId: "x", doors }));
  expect(await openStream(palace.config, "test")).toBeUndefined();
  expect(asked).toBe(0);
  door.close();
});
