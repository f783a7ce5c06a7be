import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Client } from "../../../src/wire/client/client.ts";
import type { Json, JsonObject } from "../../../src/protocol/spec.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, openMempalace } from "../../helpers/python-mempalace.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: the log beside ${VERSION} (${missing})`);

type Event = { id: string; seq: number; origin_replica: string; hlc: string; from_agent: string };
const EACH = 60;

async function call(client: Client, tool: string, args: JsonObject): Promise<Record<string, unknown>> {
  return (await client.callTool(`mempalace_${tool}`, args)) as Json as Record<string, unknown>;
}

it.skipIf(missing !== undefined)(
  "MemPalace and our agents append at once: both see all events in one order, and an event ends the other side's wait",
  { timeout: 300_000 },
  async () => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    const client = await palace.client();
    const { palaceDir } = palace.config.paths;
    await using python = await openMempalace(VERSION, { home: palace.home, palace: palaceDir });
    const event = (from_agent: string, at: number): JsonObject => ({
      ...{ type: "status", stream: "shared", room: "status", from_agent, body: `${from_agent} ${at}` },
    });
    // MemPalace appends the first event, so MemPalace makes the log's file and `replica.json`.
    await python.call("event_append", event("theirs", 0));
    expect(existsSync(join(palaceDir, "logstream.sqlite3"))).toBe(true);
    const waiting = call(client, "event_wait", { writer: "theirs", correlation_id: "last", timeout_ms: 60_000 });
    const at = Array.from({ length: EACH }, (_, index) => index + 1);
    await Promise.all([
      (async () => {
        for (const index of at) await python.call("event_append", event("theirs", index));
      })(),
      Promise.all(at.map((index) => call(client, "event_append", event("ours", index)))),
    ]);
    await python.call("event_append", { ...event("theirs", EACH + 1), correlation_id: "last" });
    expect(await waiting).toMatchObject({ timed_out: false, count: 1 });

    const all = { stream: "shared", order: "asc", limit: 500 };
    const [ours, theirs] = [await call(client, "event_list", all), await python.call("event_list", all)];
    expect(ours).toEqual(theirs);
    const events = ours["events"] as Event[];
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 2 * EACH + 2 }, (_, index) => index + 1));
    expect(events.filter((one) => one.from_agent === "ours")).toHaveLength(EACH);
    expect(new Set(events.map((one) => one.origin_replica)).size).toBe(1);

    // MemPalace gets the bytes of our patch unchanged and answers. Our side gets and answers MemPalace's patch in the same way.
    const patch = {
      content: "--- a\n+++ b\n\u00e9 sk-abcdefghijklmnopqrstuvwxyz123456\n",
      from_agent: "ours",
      stream: "shared",
    };
    const submitted = (await call(client, "patch_submit", patch)) as { artifact: { id: string }; event: Event };
    const got = await python.call("artifact_get", { artifact_id: submitted.artifact.id });
    expect(got).toEqual(await call(client, "artifact_get", { artifact_id: submitted.artifact.id }));
    expect(got).toMatchObject({ artifact: { content: patch.content } });
    await python.call("event_ack", { event_id: submitted.event.id, from_agent: "theirs", status: "applied" });
    expect(await call(client, "event_wait", { since_event_id: submitted.event.id })).toMatchObject({
      events: [{ type: "event.ack", status: "applied", metadata: { ack_of: submitted.event.id } }],
    });
    client.close();
    broker.kill("SIGTERM");
    await once(broker, "exit");
    expect(await python.call("event_list", { ...all, limit: 1 })).toMatchObject({ count: 1 });
  },
);
