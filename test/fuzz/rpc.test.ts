/** Sends messages to a real broker. Each must get exactly one typed answer, and the palace must change as the answers say. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { afterAll, beforeAll, expect } from "vitest";
import { seededRandom } from "../helpers/random.ts";
import { Chooser } from "./chooser.ts";
import { fuzz } from "./harness.ts";
import { message, OWN_DRAWER } from "./rpc-messages.ts";
import { type Answer, answerDue, effectOf, type Filed, objection, understood } from "./rpc-rules.ts";
import { assertNoLeak, openDoorSocket, startWitnessed, type Witnessed } from "./witness.ts";

const LANES = 24;

let world: Witnessed;
const lanes: Lane[] = [];
let expectedDrawers = 0;

beforeAll(async () => {
  world = await startWitnessed();
  for (let lane = 0; lane < LANES; lane++) lanes.push(await openLane(lane));
});
afterAll(async () => {
  for (const { socket } of lanes) socket.destroy();
  await world[Symbol.asyncDispose]();
});

fuzz("json-rpc", {
  count: 4_000,
  lanes: LANES,
  generate: message,
  check: async (input, { lane: index, number }) => {
    const lane = lanes[index] as Lane;
    const line = Buffer.from(input.toString("latin1").replaceAll(OWN_DRAWER, lane.filed?.id ?? "none"), "latin1");
    const due = answerDue(line);
    if (due === undefined) {
      // This line gets no answer, so the next answer must be the ping's.
      expect(await lane.ask(line, true)).toEqual({ jsonrpc: "2.0", id: "sentinel", result: {} });
      return;
    }
    const answer = await lane.ask(line, false);
    // Compares as text, because JSON writes both 0 and -0 as 0.
    const id = JSON.stringify(answer.id);
    // A line that cannot be parsed may still contain an id.
    const text = line.toString("latin1").replaceAll(/\s/g, "").replaceAll('"id":-0', '"id":0');
    const isNamed = understood(line) === undefined && text.includes(`"id":${id}`);
    if (!isNamed) expect(id, "the id of the answer").toBe(JSON.stringify(due.id));
    expect(objection(answer), JSON.stringify(answer).slice(0, 500)).toBeUndefined();
    if (answer.error !== undefined) assertNoLeak(JSON.stringify(answer), world.palace.home);
    const { grown, wrong, filed } = effectOf(understood(line)?.message, answer, lane.filed);
    expect(wrong, "was filed").toBeUndefined();
    expectedDrawers += grown;
    if (filed !== undefined) lane.filed = filed;
    await world.stillAnswers(number);
  },
  finish: async () => {
    for (const lane of lanes) expect(await lane.ask(Buffer.alloc(0), true)).toMatchObject({ id: "sentinel" });
    expect(expectedDrawers).toBeGreaterThan(0);
    expect(await world.drawers(), "drawers according to the answers").toBe(expectedDrawers);
    for (const { socket } of lanes) socket.destroy();
    await world.assertUnharmed();
  },
});

type Lane = {
  socket: Socket;
  /** Drawer that this lane filed last. */
  filed?: Filed;
  /** Sends a line and returns the next answer. `sentinel`: sends a ping after a line that gets no answer. */
  ask(line: Buffer, sentinel: boolean): Promise<Answer>;
};

/** Opens a stream: even numbers over the UNIX socket, odd ones over TCP with a token. */
async function openLane(number: number): Promise<Lane> {
  const door = number % 2 === 0 ? "unix" : "tcp";
  const socket = await openDoorSocket(door, world, new Chooser(seededRandom(number)));
  const authorization = `Authorization: Bearer ${world.token}`;
  socket.write(
    ["GET /mcp HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: mcp", authorization, "", ""].join("\r\n"),
  );
  const [head] = (await once(socket, "data")) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 101 [^]*\r\n\r\n$/);
  let waiting: PromiseWithResolvers<Answer> | undefined;
  let rest = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const answer = JSON.parse(part) as Answer;
      if (waiting === undefined) surplus.push(part);
      waiting?.resolve(answer);
      waiting = undefined;
    }
  });
  const surplus: string[] = [];
  socket.on("close", () => waiting?.reject(new Error("the broker closed the stream")));
  return {
    socket,
    ask: (line, sentinel) => {
      expect(surplus, "answers without a request").toEqual([]);
      waiting = Promise.withResolvers();
      const ping = sentinel ? '{"jsonrpc":"2.0","id":"sentinel","method":"ping"}\n' : "";
      socket.write(Buffer.concat([line, Buffer.from(`\n${ping}`)]));
      return waiting.promise;
    },
  };
}
