/** Spans of a trace. Tracing is usually off: these functions then do nothing, and open-telemetry.ts is not loaded. */
import { isRecord } from "./parse-json.ts";

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export type Span = {
  /** W3C Trace Context of this span, to send to the next process. */
  readonly traceparent: string;
  begin(name: string, attributes?: SpanAttributes): Span;
  /** Ends the span. `error`: kind of the failure. Never a message, because messages may quote a memory. */
  end(attributes?: SpanAttributes, error?: string): void;
  /** Runs `work` with this span as the current span, also in everything that `work` awaits. */
  run<T>(work: () => T): T;
};

export type Tracer = {
  /** Begins a call's span. `meta`: the call's `_meta`, whose `traceparent` identifies the parent span. */
  call(name: string, kind: "client" | "server", meta: unknown, attributes: SpanAttributes): Span;
  current(): Span | undefined;
  /** `sent`: number of spans that the collector accepted. `lost`: number of spans that were dropped or refused. */
  counts(): { sent: number; lost: number };
  /** Sends the waiting spans. Never rejects, and resolves after `timeoutMs` at the latest. */
  close(timeoutMs: number): Promise<void>;
};

/** Content of a `traceparent`. The ids are hexadecimal. */
export type TraceParent = { traceId: string; spanId: string; flags: number };

/** Maximum length of a `traceparent`. Version 00 has 55 characters; later versions may add fields. */
const TRACEPARENT_MAX = 256;
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Key of `_meta` with the parent span (MCP SEP-414). The environment variable has this name in upper case. */
export const TRACEPARENT_META = "traceparent";
export const TRACESTATE_META = "tracestate";

let tracer: Tracer | undefined;

export function useTracer(one: Tracer | undefined): void {
  tracer = one;
}

export function tracerInUse(): Tracer | undefined {
  return tracer;
}

/** Returns the span in which this code runs. Returns undefined if tracing is off or no traced call is running this code. */
export function currentSpan(): Span | undefined {
  return tracer?.current();
}

/** Runs `work` in a child of the current span. Errors: the errors of `work`. */
export async function traced<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  const span = currentSpan()?.begin(name);
  if (span === undefined) return work();
  try {
    const value = await span.run(work);
    span.end();
    return value;
  } catch (error) {
    span.end({}, error instanceof Error ? error.name : "error");
    throw error;
  }
}

/** Returns undefined if the `traceparent` is missing, malformed or too long. */
export function parseTraceParent(given: unknown): TraceParent | undefined {
  if (typeof given !== "string" || given.length > TRACEPARENT_MAX) return undefined;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(given) ?? [];
  if (traceId === undefined || spanId === undefined || (version === "00" && more !== undefined)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags ?? "", 16) };
}

export function metaText(meta: unknown, key: string): string | undefined {
  const value = isRecord(meta) ? meta[key] : undefined;
  return typeof value === "string" ? value : undefined;
}
