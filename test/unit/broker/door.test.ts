/** Tests that each connection has its own number, by which the queue and the journal distinguish peers. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDoor, type OpenDoor } from "../../../src/broker/door/door.ts";
import { Held } from "../../../src/broker/door/held.ts";
import { Starts } from "../../../src/broker/door/starts.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

const PATIENCE = { timeout: 60_000 };

let folder: string;
let door: OpenDoor;
let left: number[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "door-"));
  left = [];
  door = await openDoor({
    at: { kind: "unix", path: socketPath(), role: "admin", name: "unix", credentials: () => undefined },
    instanceHeader: ["palace-instance", "i"],
    dispatch: () => Promise.resolve(undefined),
    held: new Held(SILENT_LOG),
    starts: new Starts(),
    routes: new Map([["/who", (_request, response, { id }) => void response.end(String(id))]]),
    onPeers: () => {},
    onLeft: (id) => left.push(id),
    log: SILENT_LOG,
  });
});
afterEach(async () => {
  await door.close();
  rmSync(folder, { recursive: true, force: true });
});

const socketPath = (): string => join(folder, "s");

/** Returns the number of the connection that the agent keeps open. */
async function numberOf(agent: Agent): Promise<number> {
  const [response] = (await once(get({ agent, socketPath: socketPath(), path: "/who" }), "response")) as [
    IncomingMessage,
  ];
  return Number(await text(response));
}

test("each connection has its own number, and its closing is reported once", async () => {
  const [one, two] = [new Agent({ keepAlive: true, maxSockets: 1 }), new Agent({ keepAlive: true, maxSockets: 1 })];
  const [first, again, other] = [await numberOf(one), await numberOf(one), await numberOf(two)];
  expect([again, other]).toEqual([first, first + 1]);
  one.destroy();
  await vi.waitFor(() => expect(left).toEqual([first]), PATIENCE);
  two.destroy();
  await vi.waitFor(() => expect(left).toEqual([first, other]), PATIENCE);
});
