/** A refused upgrade's connection stayed open, so a client without a token could use up all descriptors. Found by fuzzing. */
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { findBroker } from "../../../src/wire/client/discover.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const REFUSED = "GET /elsewhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n";

test.each([
  ["sends more and then closes it", false],
  ["keeps its side open", true],
])(
  "the broker closes a connection after a refused upgrade when the peer %s",
  { timeout: 60_000 },
  async (_name, allowHalfOpen) => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    await expect.poll(async () => (await findBroker(palace.config))?.health.status, { timeout: 30_000 }).toBe("ready");
    const descriptors = (): number => readdirSync(`/proc/${broker.pid}/fd`).length;
    const before = descriptors();
    const sockets = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const socket = connect({ path: palace.config.paths.socketPath, allowHalfOpen });
        socket.on("error", () => {});
        socket.write(`${REFUSED}${"x".repeat(100_000)}`);
        const [answer] = (await once(socket, "data")) as [Buffer];
        expect(answer.toString()).toContain("400 Bad Request");
        return socket;
      }),
    );
    await expect.poll(descriptors, { timeout: 15_000 }).toBeLessThanOrEqual(before);
    for (const socket of sockets) socket.destroy();
  },
);
