/** Tests reading of a `traceparent`, and the bounded queue of spans before a collector. */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { openTelemetry } from "../../../src/base/open-telemetry.ts";
import { currentSpan, parseTraceParent, traced, useTracer } from "../../../src/base/trace.ts";
import { startCollector } from "../../helpers/span-collector.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const options = { service: "test", onChange: () => {} };

afterEach(() => {
  useTracer(undefined);
  vi.unstubAllEnvs();
});

test("a traceparent of version 00, and the known part of a later version, is read", () => {
  const parent = { traceId: TRACE, spanId: PARENT, flags: 1 };
  expect(parseTraceParent(`00-${TRACE}-${PARENT}-01`)).toEqual(parent);
  expect(parseTraceParent(`01-${TRACE}-${PARENT}-01-more`)).toEqual(parent);
});

test.each([
  ["more than version 00 has", `00-${TRACE}-${PARENT}-01-more`],
  ["the forbidden version", `ff-${TRACE}-${PARENT}-01`],
  ["a trace of zeros", `00-${"0".repeat(32)}-${PARENT}-01`],
  ["a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["upper case", `00-${TRACE.toUpperCase()}-${PARENT}-01`],
  ["a huge text", `01-${TRACE}-${PARENT}-01-${"x".repeat(1_000)}`],
  ["no text", 7],
])("a traceparent with %s is ignored", (_what, given) => {
  expect(parseTraceParent(given)).toBeUndefined();
});

test("without a tracer, `traced` runs the work unchanged and the work has no span", async () => {
  expect(await traced("any", () => currentSpan())).toBeUndefined();
  await expect(traced("any", () => Promise.reject(new Error("as it was")))).rejects.toThrow("as it was");
});

test("if the caller's `traceparent` is not sampled, the span and its children are not sent", async () => {
  await using collector = await startCollector();
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url);
  const tracer = openTelemetry(options);
  useTracer(tracer);
  for (const flags of ["00", "01"]) {
    const span = tracer.call(flags, "server", { traceparent: `00-${TRACE}-${PARENT}-${flags}` }, {});
    expect(span.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-${flags}$`));
    await span.run(() => traced(`inside ${flags}`, () => Promise.resolve()));
    span.end();
  }
  await tracer.close(10_000);
  expect(collector.spans.map(({ name }) => name)).toEqual(["inside 01", "01"]);
  expect(tracer.counts()).toEqual({ sent: 2, lost: 0 });
});

test("with a collector that never answers, at most 2,048 spans and four batches wait, and the other spans count as lost", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await once(server, "listening");
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const tracer = openTelemetry(options);
  for (let at = 0; at < 10_000; at++) tracer.call("call", "server", {}, {}).end();
  const { sent, lost } = tracer.counts();
  expect(sent).toBe(0);
  expect(lost).toBeGreaterThanOrEqual(10_000 - 2_048 - 4 * 512);
  await tracer.close(1);
  server.closeAllConnections();
  server.close();
});
