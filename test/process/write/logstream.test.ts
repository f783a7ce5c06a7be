import { once } from "node:events";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { Client } from "../../../src/wire/client/client.ts";
import type { Json, JsonObject } from "../../../src/protocol/spec.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { watchTimers } from "../../helpers/waited-timers.ts";

type Event = { id: string; seq: number; body: string; hlc: string; correlation_id: string | null };
type Answer = { success?: boolean; error?: string; event: Event; events: Event[]; timed_out?: boolean };

/** Time that a stopping broker gives to calls that do not end by themselves, ms. */
const DRAIN_MAX_MS = 8_000;
const REQUEST = { type: "task.request", stream: "project/p", room: "delegation", from_agent: "a", to_agent: "b" };
const PATCH = "--- a\n+++ b\n";

async function call(client: Client, tool: string, args: JsonObject = {}, key?: string): Promise<Answer> {
  const options = key === undefined ? {} : { key };
  return (await client.callTool(`mempalace_${tool}`, args, options)) as Json as unknown as Answer;
}

const logFile = (palace: TestPalace): string => join(palace.config.paths.palaceDir, "logstream.sqlite3");

test("the first use of the coordination log makes its files, and a call repeated with its key is done once", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  expect(existsSync(logFile(palace))).toBe(false);
  const append = { ...REQUEST, body: "do it", metadata: { b: 1, a: 2 } };
  const first = await call(client, "event_append", append, "k1");
  expect(first).toMatchObject({ success: true, event: { seq: 1, body: "do it" } });
  expect(await call(client, "event_append", append, "k1")).toEqual(first);
  await expect(call(client, "event_append", { ...append, body: "other" }, "k1")).rejects.toThrow(
    "was used for another",
  );
  const refused = { ...append, artifact_ids: ["art_none"] };
  expect(await call(client, "event_append", refused, "k2")).toMatchObject({ success: false });
  const ack = await call(client, "event_ack", { event_id: first.event.id, from_agent: "b", status: "claimed" });
  expect(ack.event).toMatchObject({ correlation_id: first.event.id, seq: 2 });
  expect(ack.event.hlc > first.event.hlc).toBe(true);
  const patch = { content: PATCH, from_agent: "b", stream: "project/p", status: "x" };
  await expect(call(client, "patch_submit", patch)).rejects.toThrow("Unknown parameter");
  const { events } = await call(client, "event_list", { to_agent: "b" });
  expect(events.map(({ id }) => id)).toEqual([first.event.id]);
  client.close();
});

test("a patch whose event is refused leaves no artifact", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  const patch = { content: PATCH, from_agent: "b", stream: "project/p", body: "n\0l" };
  expect(await call(client, "patch_submit", patch)).toEqual({ success: false, error: "body contains null bytes" });
  client.close();
  const database = new Database(logFile(palace), { readonly: true });
  expect(database.prepare("SELECT count(*) FROM artifacts").pluck().get()).toBe(0);
  database.close();
});

test("an event wait ends when any process appends the expected event, and does not delay other calls", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const [waiting, other] = [await palace.client(), await palace.client()];
  const first = await call(other, "event_append", REQUEST);
  const cursor = { since_event_id: first.event.id, timeout_ms: 60_000 };
  // This peer opens as many waits as it may have. Other peers' calls continue.
  const waits = Array.from({ length: 60 }, (_, at) =>
    call(waiting, "event_wait", { ...cursor, correlation_id: at < 30 ? "ours" : "theirs" }),
  );
  expect(await call(waiting, "event_wait", { type: "none", timeout_ms: 600 })).toMatchObject({
    timed_out: true,
    events: [],
  });
  for (let at = 0; at < 20; at++) await call(other, "event_append", { ...REQUEST, correlation_id: `c${at}` });
  await call(other, "event_append", { ...REQUEST, correlation_id: "ours" });
  for (const answer of await Promise.all(waits.slice(0, 30)))
    expect(answer).toMatchObject({ timed_out: false, events: [{ correlation_id: "ours" }] });
  // A MemPalace on the same machine writes to the file directly, and not through the broker.
  const database = new Database(logFile(palace));
  database
    .prepare(
      `INSERT INTO events (id, type, stream, room, from_agent, correlation_id, created_at) VALUES ('evt_x', 't', 's', 'r', 'a', 'theirs', '2026')`,
    )
    .run();
  database.close();
  for (const answer of await Promise.all(waits.slice(30)))
    expect(answer).toMatchObject({ timed_out: false, events: [{ id: "evt_x" }] });
  waiting.close();
  other.close();
});

test("a process that locked the coordination log delays events, but not the writing of drawers", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  await call(client, "event_append", REQUEST);
  const other = new Database(logFile(palace));
  other.exec("BEGIN IMMEDIATE");
  let isAppended = false;
  const appending = call(client, "event_append", REQUEST).then((answer) => ((isAppended = true), answer));
  for (let at = 0; at < 2; at++)
    await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: `note ${at}` });
  expect(isAppended).toBe(false);
  other.exec("COMMIT");
  other.close();
  expect(await appending).toMatchObject({ success: true, event: { seq: 2 } });
  client.close();
});

test("an event wait survives a restart of the broker, and does not delay the broker's stop", async () => {
  await using palace = createTestPalace();
  const timers = watchTimers(palace.home);
  const broker = await palace.startBroker(timers.env);
  const client = await palace.client();
  const waiting = call(client, "event_wait", { correlation_id: "late", timeout_ms: 60_000 });
  await call(client, "event_list");
  timers.take();
  broker.kill("SIGTERM");
  await once(broker, "exit");
  const waited = timers.take();
  expect(waited.filter((ms) => ms >= DRAIN_MAX_MS)).toEqual([]);
  await palace.startBroker();
  const other = await palace.client();
  await call(other, "event_append", { ...REQUEST, correlation_id: "late" });
  expect(await waiting).toMatchObject({ timed_out: false, events: [{ correlation_id: "late" }] });
  client.close();
  other.close();
});

/** Steps at which the broker is killed: `STEP:1` in the first write to the log, `STEP:2` in the second write. */
const STEPS = [
  ...["before-schema", "before-name", "before-link", "after-schema", "before-commit", "after-commit"].map(
    (step) => `${step}:1`,
  ),
  ...["before-begin", "after-apply", "after-key", "before-commit", "after-commit"].map((step) => `${step}:2`),
];

test.each(STEPS)(
  "a broker killed at log.%s leaves the write whole or not at all, and the write is done once",
  async (step) => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker({ MEMPALACE_FAULT: `log.${step}` });
    const client = await palace.client();
    const put = { content: PATCH, from_agent: "b", stream: "project/p", correlation_id: "c" };
    const isLater = step.endsWith(":2");
    if (isLater) await call(client, "event_append", REQUEST, "k0");
    // This call may fail, or reach the next broker. Then the client repeats the call with its key.
    const dying = call(client, "patch_submit", put, "k1").catch(() => undefined);
    if (broker.exitCode === null && broker.signalCode === null) await once(broker, "exit");
    expect(broker.signalCode).toBe("SIGKILL");
    await palace.startBroker();
    await dying;
    const next = await palace.client();
    const again = await call(next, "patch_submit", put, "k1");
    expect(again.success).toBe(true);
    const { events } = await call(next, "event_list", { correlation_id: "c" });
    expect(events).toEqual([again.event]);
    expect(again.event.seq).toBe(isLater ? 2 : 1);
    client.close();
    next.close();
    const database = new Database(logFile(palace), { readonly: true });
    expect(database.prepare("SELECT count(*) FROM artifacts").pluck().get()).toBe(1);
    expect(database.prepare("SELECT count(*) FROM event_artifacts").pluck().get()).toBe(1);
    database.close();
  },
);

test("the broker makes the coordination log again after it was moved away, and refuses another kind of file in its place without changing it", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  const file = logFile(palace);
  await call(client, "event_append", REQUEST);
  for (const suffix of ["", "-wal", "-shm"]) renameSync(file + suffix, `${file}.away${suffix}`);
  expect(await call(client, "event_append", REQUEST)).toMatchObject({ success: true, event: { seq: 1 } });
  const text = "no database at all, but long enough to be taken for one".repeat(20);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
  writeFileSync(file, text);
  await expect(call(client, "event_append", REQUEST)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  await expect(call(client, "event_list")).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  expect(readFileSync(file, "utf8")).toBe(text);
  client.close();
});
