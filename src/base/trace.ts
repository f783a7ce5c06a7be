/**
 * Spans of a trace, for every wing. Without a tracer (the usual case) every function here does nothing, and nothing else is loaded.
 * `open-telemetry.ts` makes the tracer.
 */
import { isRecord } from "./parse-json.ts";

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A piece of work with a beginning and an end. */
export type Span = {
  /** W3C Trace Context of this span, for the next process. */
  readonly traceparent: string;
  begin(name: string, attributes?: SpanAttributes): Span;
  /** Ends the span. `error`: kind of the failure, from a small set and never a message, because messages may quote a memory. */
  end(attributes?: SpanAttributes, error?: string): void;
  /** Runs `work`. This span is the current span in `work` and in everything that `work` awaits. */
  run<T>(work: () => T): T;
};

/** Makes spans and sends them to a collector. */
export type Tracer = {
  /** Begins a span of a call. `meta`: the call's `_meta`, whose `traceparent` names the parent. */
  call(name: string, kind: "client" | "server", meta: unknown, attributes: SpanAttributes): Span;
  current(): Span | undefined;
  /** Number of spans that the collector has accepted, and of spans that never reached it. */
  counts(): { sent: number; lost: number };
  /** Sends the waiting spans. Never rejects; resolves after `timeoutMs` at the latest. */
  close(timeoutMs: number): Promise<void>;
};

/** The parent span in a `traceparent`. The ids are hexadecimal. */
export type TraceParent = { traceId: string; spanId: string; flags: number };

/** Maximum length of a `traceparent` that we read. Version 00 has 55 characters; later versions may add fields. */
const TRACEPARENT_MAX = 256;
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Key of `_meta` with the parent span. The environment variable has this name in upper case. Source: MCP SEP-414, W3C Trace Context. */
export const TRACEPARENT_META = "traceparent";
export const TRACESTATE_META = "tracestate";

let tracer: Tracer | undefined;

export function useTracer(one: Tracer | undefined): void {
  tracer = one;
}

/** Returns the tracer; undefined if tracing is off. */
export function tracerInUse(): Tracer | undefined {
  return tracer;
}

/** Returns the span in which this code runs; undefined if tracing is off or the work belongs to no traced call. */
export function currentSpan(): Span | undefined {
  return tracer?.current();
}

/** Runs `work` in a new span inside the current span. Errors: the errors of `work`. */
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

/** Parses a `traceparent`; undefined if it is missing, malformed or too long. */
export function parseTraceParent(given: unknown): TraceParent | undefined {
  if (typeof given !== "string" || given.length > TRACEPARENT_MAX) return undefined;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(given) ?? [];
  if (traceId === undefined || spanId === undefined || (version === "00" && more !== undefined)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags ?? "", 16) };
}

/** Returns the string at `key` in a call's `_meta`; undefined if it has no such string. */
export function metaText(meta: unknown, key: string): string | undefined {
  const value = isRecord(meta) ? meta[key] : undefined;
  return typeof value === "string" ? value : undefined;
}
