import { spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { IDEMPOTENCY_META } from "../../../src/protocol/headers.ts";
import { findBroker } from "../../../src/wire/client/discover.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { type ReceivedSpan, type SpanCollector, startCollector } from "../../helpers/span-collector.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const traceparent = `00-${TRACE}-${PARENT}-01`;
const SECRET = "the zebra sleeps in the cellar";
const note = { wing: "notes", room: "animals", content: SECRET };

const on = ({ url }: SpanCollector): Record<string, string> => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url });

/** Stops the broker, which then sends its last spans. */
async function stop(palace: TestPalace): Promise<void> {
  await palace.run("palace", ["stop"]);
  while ((await findBroker(palace.config)) !== undefined) await delay(20);
}

function only(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.filter((span) => span.name === name);
  expect(found.map(({ service }) => service)).toHaveLength(1);
  return found[0] as ReceivedSpan;
}

function named(spans: readonly ReceivedSpan[], service: string, name: string): ReceivedSpan[] {
  return spans.filter((span) => span.service === service && span.name === name);
}

test("the spans of agent, shim, broker, queue and commit are one trace, and no span has the text of a memory", async () => {
  await using collector = await startCollector();
  await using palace = createTestPalace({ env: on(collector) });
  const agent = await palace.shim();
  await agent.request("tools/call", { name: "mempalace_add_drawer", arguments: note, _meta: { traceparent } });
  await agent.request("tools/call", { name: "mempalace_search", arguments: { query: SECRET }, _meta: { traceparent } });
  const unknown = { name: `zebra_${"x".repeat(50)}`, arguments: {}, _meta: { traceparent } };
  await agent.request("tools/call", unknown).catch(() => {});
  await agent.close();
  await stop(palace);
  const { spans } = collector;
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));

  const [asked] = named(spans, "palace-shim", "tools/call mempalace_add_drawer");
  const [served] = named(spans, "palace-broker", "tools/call mempalace_add_drawer");
  expect(asked).toMatchObject({ parentSpanId: PARENT, kind: 3 });
  expect(served).toMatchObject({ parentSpanId: asked?.spanId, kind: 2 });
  expect(served?.attributes).toMatchObject({
    "mcp.method.name": "tools/call",
    "gen_ai.tool.name": "mempalace_add_drawer",
    "gen_ai.operation.name": "execute_tool",
    "network.transport": "unix",
  });
  for (const name of ["palace.write.queue", "palace.write.commit"])
    expect(only(spans, name)).toMatchObject({ parentSpanId: served?.spanId, service: "palace-broker" });
  const [searched] = named(spans, "palace-broker", "tools/call mempalace_search");
  expect(only(spans, "palace.search.words").parentSpanId).toBe(searched?.spanId);
  const [refused] = named(spans, "palace-broker", "tools/call unknown");
  expect(refused?.attributes).toMatchObject({ "error.type": "-32601", "rpc.response.status_code": "-32601" });
  expect(collector.texts.join("")).not.toMatch(/zebra|cellar|animals/);
});

test("a write that is sent again to the next broker has one trace, and the next broker's span is marked as replayed", async () => {
  await using collector = await startCollector();
  await using palace = createTestPalace({ env: on(collector) });
  await palace.startBroker({ MEMPALACE_FAULT: "acknowledge.before-reply" });
  const agent = await palace.shim();
  await agent.call("mempalace_add_drawer", note);
  await agent.close();
  await stop(palace);
  const name = "tools/call mempalace_add_drawer";
  const [asked] = named(collector.spans, "palace-shim", name);
  const [served] = named(collector.spans, "palace-broker", name);
  expect(named(collector.spans, "palace-shim", name)).toHaveLength(1);
  expect(asked?.parentSpanId).toBeUndefined();
  expect(served).toMatchObject({ traceId: asked?.traceId, parentSpanId: asked?.spanId });
  expect(served?.attributes["palace.replayed"]).toBe(true);
});

test("the broker continues a trace through a shim without tracing, at the HTTP door and from a command's TRACEPARENT", async () => {
  await using collector = await startCollector();
  await using palace = createTestPalace();
  await palace.startBroker(on(collector));
  const agent = await palace.shim();
  await agent.request("tools/call", {
    name: "mempalace_search",
    arguments: { query: "by shim" },
    _meta: { traceparent },
  });
  await agent.close();
  const { code, stderr } = await palace.run("palace", ["search", "by command"], { env: { TRACEPARENT: traceparent } });
  expect(code, stderr).toBe(0);
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: {} };
  call.params = { name: "mempalace_status", arguments: {}, _meta: { traceparent } };
  const { socketPath } = palace.config.paths;
  const headers = ["content-type: application/json", "accept: application/json, text/event-stream"];
  const posted = spawnSync("curl", [
    ...["-sS", "--unix-socket", socketPath, "http://palace/mcp", "-d", JSON.stringify(call)],
    ...headers.flatMap((header) => ["-H", header]),
  ]);
  expect(posted.stdout.toString(), posted.stderr.toString()).toContain('"content"');
  await stop(palace);
  for (const name of ["tools/call mempalace_search", "drawer.search", "tools/call mempalace_status"])
    expect(only(collector.spans, name), name).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: 2 });
});

test("a malformed or huge traceparent is ignored, and the call is answered", async () => {
  await using collector = await startCollector();
  await using palace = createTestPalace({ env: on(collector) });
  const agent = await palace.shim();
  const bad = [`00-${"0".repeat(32)}-${PARENT}-01`, "x".repeat(100_000), 7, { a: 1 }, `ff-${TRACE}-${PARENT}-01`, ""];
  for (const one of bad) {
    const params = {
      name: "mempalace_status",
      arguments: {},
      _meta: { traceparent: one, tracestate: "y".repeat(9_999) },
    };
    expect(await agent.request("tools/call", params)).toHaveProperty("content");
  }
  await agent.close();
  await stop(palace);
  const asked = named(collector.spans, "palace-shim", "tools/call mempalace_status");
  expect(new Set(asked.map(({ traceId }) => traceId)).size).toBe(bad.length);
  expect(asked.every(({ parentSpanId }) => parentSpanId === undefined)).toBe(true);
  expect(collector.texts.join("")).not.toContain("yyyy");
});

test("calls are answered although the collector refuses spans, and /metrics counts the lost spans", async () => {
  await using collector = await startCollector();
  collector.status = 400;
  await using palace = createTestPalace();
  await palace.startBroker(on(collector));
  const client = await palace.client();
  for (let at = 0; at < 200; at++) await client.callTool("mempalace_status", {});
  await client.callTool("mempalace_add_drawer", note);
  const { socketPath } = palace.config.paths;
  const metrics = (): string =>
    spawnSync("curl", ["-s", "--unix-socket", socketPath, "http://p/metrics"]).stdout.toString();
  while (!/palace_spans_total\{outcome="lost"\} [1-9]/.test(metrics())) await delay(50);
  expect(metrics()).toContain('palace_spans_total{outcome="sent"} 0');
  client.close();
});

test("OTEL_SDK_DISABLED, the exporter `none` and the protocol `grpc` each switch tracing off", async () => {
  await using collector = await startCollector();
  await using palace = createTestPalace();
  for (const off of [
    { OTEL_SDK_DISABLED: "true" },
    { OTEL_TRACES_EXPORTER: "none" },
    { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
  ]) {
    await palace.startBroker({ ...on(collector), ...off });
    const agent = await palace.shim({ ...on(collector), ...off });
    const _meta = { [IDEMPOTENCY_META]: Object.keys(off)[0], traceparent };
    await agent.request("tools/call", { name: "mempalace_add_drawer", arguments: note, _meta });
    await agent.close();
    await stop(palace);
  }
  expect(collector.texts).toEqual([]);
});
