import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { callOf, createSmallPalace, isAlive, openRaw } from "../../helpers/child-engine.ts";
import { freePort } from "../../helpers/free-port.ts";

test("many shims that use the same request ids each get their own answers, and every write is done once, by one child", async () => {
  await using palace = createSmallPalace();
  await palace.startBroker();
  const shims = await Promise.all(Array.from({ length: 6 }, () => palace.shim()));
  const answers = await Promise.all(
    shims.flatMap((shim, one) =>
      Array.from({ length: 20 }, async (_, index) => {
        const text = `${one}.${index}`;
        return { text, answer: await shim.call(index % 4 === 0 ? "look" : "add", { text, ms: index % 3 }) };
      }),
    ),
  );
  expect(answers.filter(({ text, answer }) => answer["text"] !== text)).toEqual([]);
  expect(new Set(answers.map(({ answer }) => answer["pid"])).size).toBe(1);
  const begun = palace.calls().filter((line) => line.startsWith("add ") || line.startsWith("look "));
  expect(new Set(begun).size).toBe(120);
  expect(begun.length).toBe(120);
  expect(palace.calls().filter((line) => line.startsWith("start"))).toHaveLength(1);
  for (const shim of shims) expect(await shim.close()).toBe(0);
});

test("the handshake gives a client the name, capabilities and instructions of the engine's process, and a protocol version that both speak", async () => {
  await using palace = createSmallPalace();
  await palace.startBroker();
  const raw = await openRaw(palace);
  const ask = async (id: number, protocolVersion?: string) => {
    raw.send({ id, method: "initialize", params: { protocolVersion, capabilities: {}, clientInfo: {} } });
    return (await raw.next((message) => message.id === id))["result"];
  };
  expect(await ask(1, "2025-03-26")).toEqual({
    protocolVersion: "2025-03-26",
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "small", version: "1.2.3" },
    instructions: "be small",
  });
  expect(await ask(2, "2025-11-25")).toMatchObject({ protocolVersion: "2025-06-18" });
  expect(await ask(3)).toMatchObject({ protocolVersion: "2024-11-05" });
  raw.send({ id: "p", method: "ping" });
  expect(await raw.next((message) => message.id === "p")).toEqual({ jsonrpc: "2.0", id: "p", result: {} });
  raw.send({ id: "x", method: "nobody/knows" });
  expect(await raw.next((message) => message.id === "x")).toMatchObject({ error: { code: -32601 } });
  raw.close();
});

test("a write repeated with its key joins the running call, then gets the first result; the same key with other arguments is refused", async () => {
  await using palace = createSmallPalace();
  await palace.startBroker();
  const raw = await openRaw(palace);
  const key = { "palace/idempotencyKey": "once" };
  raw.send({ id: 1, ...callOf("add", { text: "k", ms: 200 }, key) });
  raw.send({ id: 2, ...callOf("add", { text: "k", ms: 200 }, key) });
  const [first, joined] = await Promise.all([1, 2].map((id) => raw.next((message) => message.id === id)));
  raw.send({ id: 3, ...callOf("add", { text: "k", ms: 200 }, key) });
  const later = await raw.next((message) => message.id === 3);
  expect((first?.["result"] as { _meta?: unknown })._meta).toBeUndefined();
  expect([joined, later].map((one) => (one?.["result"] as { _meta?: unknown })._meta)).toEqual([
    { "palace/replayed": true },
    { "palace/replayed": true },
  ]);
  expect(palace.calls().filter((line) => line.startsWith("add"))).toHaveLength(1);
  raw.send({ id: 4, ...callOf("add", { text: "other" }, key) });
  expect(await raw.next((message) => message.id === 4)).toMatchObject({
    error: { data: { code: "PROTOCOL_KEY_REUSED" } },
  });
  // A tool that failed changed nothing, so it is called again. Our own keys in `_meta` are not sent to the child.
  for (const id of [5, 6]) {
    raw.send({ id, ...callOf("fail", {}, { "palace/idempotencyKey": "again" }) });
    await raw.next((message) => message.id === id);
  }
  expect(palace.calls().filter((line) => line.startsWith("fail"))).toHaveLength(2);
  raw.send({ id: 7, ...callOf("meta", {}, { "palace/idempotencyKey": "m", theirs: 1 }) });
  expect(JSON.stringify(await raw.next((message) => message.id === 7))).toContain('{\\"meta\\":{\\"theirs\\":1}}');
  raw.close();
});

test("peers take turns: a hundred waiting requests of one peer do not delay another peer's first request", async () => {
  await using palace = createSmallPalace();
  await palace.startBroker();
  const greedy = await openRaw(palace);
  const modest = await openRaw(palace);
  for (let id = 0; id < 100; id++) greedy.send({ id, ...callOf("add", { text: `g${id}`, ms: 20 }) });
  await greedy.next((message) => message.id === 3);
  modest.send({ id: 1, ...callOf("look", { text: "m" }) });
  await modest.next((message) => message.id === 1);
  // At most 11 calls of the greedy peer ran first: calls answered or running before `look m` arrived, and the calls of one turn.
  const order = palace.calls().filter((line) => /^(add|look) /.test(line));
  const at = order.findIndex((line) => line.startsWith("look m"));
  expect(at).toBeLessThan(12);
  for (let id = 100; id < 400; id++) greedy.send({ id, ...callOf("add", { text: `g${id}`, ms: 20 }) });
  const busy = await greedy.next((message) => JSON.stringify(message).includes("BROKER_BUSY"));
  expect(busy).toMatchObject({ error: { data: { retryable: true, retryAfterMs: 100 } } });
  greedy.close();
  modest.close();
});

test("a waiting call of a client that left is not started, and a cancelled call is answered BROKER_CANCELLED", async () => {
  await using palace = createSmallPalace();
  await palace.startBroker();
  const stays = await openRaw(palace);
  const leaves = await openRaw(palace);
  // The call runs long enough that on a busy machine the other calls come while it runs.
  leaves.send({ id: 1, ...callOf("look", { text: "runs", ms: 3_000 }) });
  await expect.poll(() => palace.calls().some((line) => line.startsWith("look runs"))).toBe(true);
  leaves.send({ id: 2, ...callOf("add", { text: "never" }) });
  stays.send({ id: 2, ...callOf("add", { text: "taken back" }) });
  stays.send({ method: "notifications/cancelled", params: { requestId: 2 } });
  expect(await stays.next((message) => message.id === 2)).toMatchObject({
    error: { data: { code: "BROKER_CANCELLED", retryable: false } },
  });
  leaves.close();
  stays.send({ id: 3, ...callOf("add", { text: "last" }) });
  await stays.next((message) => message.id === 3);
  const calls = palace.calls();
  expect(calls.filter((line) => /never|taken back/.test(line))).toEqual([]);
  expect(calls).toContain("notifications/cancelled");
  stays.close();
});

test("progress goes to the caller under its own token, and the child's notifications go to all clients", async () => {
  await using palace = createSmallPalace();
  await palace.startBroker();
  const [asks, listens] = [await openRaw(palace), await openRaw(palace)];
  for (const raw of [asks, listens]) {
    raw.send({ id: 0, method: "initialize", params: {} });
    await raw.next((message) => message.id === 0);
  }
  asks.send({ id: 1, ...callOf("progress", {}, { progressToken: "mine" }) });
  await asks.next((message) => message.id === 1);
  const heard = asks.received.filter(({ method }) => method === "notifications/progress");
  expect(heard.map(({ params }) => params)).toEqual(
    [1, 2, 3, 4, 5].map((progress) => ({ progressToken: "mine", progress })),
  );
  expect(listens.received.some(({ method }) => method === "notifications/progress")).toBe(false);
  asks.send({ id: 2, ...callOf("grow") });
  await listens.next(({ method }) => method === "notifications/tools/list_changed");
  asks.send({ id: 3, ...callOf("noise") });
  expect(await asks.next((message) => message.id === 3)).toHaveProperty("result");
  asks.close();
  listens.close();
});

test("a reader may call tools marked as read-only; unknown and unmarked tools count as writes", async () => {
  const port = await freePort();
  await using palace = createSmallPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  const added = await palace.run("palace", ["token", "add", "box", "--role", "reader", "--json"]);
  const { token } = JSON.parse(added.stdout) as { token: string };
  await palace.startBroker();
  const env = { HOME: `${palace.home}/else`, MEMPALACE_BROKER: `http://127.0.0.1:${port}`, MEMPALACE_TOKEN: token };
  const reader = await connectClient({ config: loadConfig(env), agent: "reader", start: "never" });
  expect(await reader.callTool("look", { text: "r" })).toMatchObject({ text: "r" });
  for (const name of ["add", "nobody_knows"])
    await expect(reader.callTool(name, {})).rejects.toMatchObject({ code: "BROKER_DENIED" });
  expect(palace.calls().filter((line) => /^(add|nobody)/.test(line))).toEqual([]);
  // A standard MCP client that uses POST /mcp reaches the same child.
  const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...callOf("look", { text: "over http" }) }),
  });
  expect(await answer.text()).toContain("over http");
  reader.close();
});

test("status and doctor name the child engine; commands that need our own engine name the alternative", async () => {
  await using palace = createSmallPalace();
  await palace.startBroker();
  const { pid, ...report } = await palace.report();
  expect(report).toEqual({
    kind: "command",
    program: process.execPath,
    state: "ready",
    generation: 1,
    server: { name: "small", version: "1.2.3" },
    failures: 0,
    lastError: null,
  });
  const status = await palace.run("palace", ["status"]);
  expect(status.stdout).toMatch(new RegExp(`engine\\s+command, ready, pid ${pid}, generation 1, small 1\\.2\\.3`));
  expect(status.stdout).not.toContain("drawers in");
  const doctor = await palace.run("palace", ["doctor"]);
  expect(doctor.stdout).toMatch(/ok\s+engine\s+command/);
  expect(doctor.code, doctor.stdout).toBe(0);
  const search = await palace.run("palace", ["search", "anything"]);
  expect([search.code, search.stderr]).toEqual([9, expect.stringContaining("palace call search")]);
  const mine = await palace.run("palace", ["mine", "docs", import.meta.dirname]);
  expect([mine.code, mine.stderr]).toEqual([9, expect.stringContaining("palace call mine")]);
  expect(readdirSync(palace.config.paths.home)).not.toContain("ledger.sqlite3");
});

test("stop also ends the child; later brokers use the child engine even without the setting, until the setting is `builtin`", async () => {
  await using palace = createSmallPalace();
  await palace.startBroker();
  const first = (await palace.report()).pid ?? 0;
  const stopped = await palace.run("palace", ["stop"]);
  expect(stopped.code).toBe(0);
  expect(isAlive(first)).toBe(false);
  await palace.startBroker({ MEMPALACE_ENGINE: "" });
  expect(await palace.report()).toMatchObject({ kind: "command", state: "ready", generation: 1 });
  await palace.run("palace", ["stop"]);
  await palace.startBroker({ MEMPALACE_ENGINE: "builtin" });
  expect(await palace.report()).toEqual({ kind: "builtin" });
  await palace.run("palace", ["stop"]);
  await palace.startBroker({ MEMPALACE_ENGINE: "" });
  expect(await palace.report()).toEqual({ kind: "builtin" });
});
