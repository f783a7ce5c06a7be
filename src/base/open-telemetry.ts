/** Makes spans with OpenTelemetry's SDK and sends them over HTTP. A slow collector delays no call: a full queue drops new spans. */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { within } from "./time-limit.ts";
import {
  metaText,
  parseTraceParent,
  type Span,
  type SpanAttributes,
  TRACEPARENT_META,
  type Tracer,
  TRACESTATE_META,
} from "./trace.ts";
import { VERSION } from "./version.ts";

const WAITING_MAX = 2_048;
/** Maximum length of a `tracestate` that we forward, characters: the minimum that W3C requires. */
const TRACESTATE_MAX = 512;
const KINDS = { client: SpanKind.CLIENT, server: SpanKind.SERVER };

export type TracerOptions = {
  /** Name of the service if the environment does not set another. */
  service: string;
  /** Called with the reason when the collector stops accepting spans, and with undefined when it accepts them again. */
  onChange: (why: string | undefined) => void;
};

/** Errors: the SDK's errors for unusable values of OpenTelemetry's environment variables. */
export function openTelemetry({ service, onChange }: TracerOptions): Tracer {
  const counts = { sent: 0, lost: 0 };
  const queue = new CountedQueue(new OTLPTraceExporter(), counts, onChange);
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": service, "service.version": VERSION }))
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new TracerProvider({ resource, spanProcessors: [queue] });
  const sdk = provider.getTracer("palace-devbox", VERSION);
  const running = new AsyncLocalStorage<Span>();

  const wrap = (span: SdkSpan, context: Context): Span => {
    const { traceId, spanId, traceFlags } = span.spanContext();
    const here = trace.setSpan(context, span);
    const one: Span = {
      traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
      begin: (name, attributes = {}) => wrap(sdk.startSpan(name, { attributes: { ...attributes } }, here), here),
      end: (attributes: SpanAttributes = {}, error) => {
        span.setAttributes({ ...attributes, ...(error !== undefined && { "error.type": error }) });
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
      run: (work) => running.run(one, work),
    };
    return one;
  };
  return {
    call: (name, kind, meta, attributes) => {
      const context = parentIn(meta);
      return wrap(sdk.startSpan(name, { kind: KINDS[kind], attributes: { ...attributes } }, context), context);
    },
    current: () => running.getStore(),
    counts: () => ({ ...counts }),
    close: async (timeoutMs) => {
      const closed = provider.shutdown().catch(() => {});
      await within(closed, timeoutMs);
    },
  };
}

/** Returns a context with the remote parent span in `_meta`, or an empty context. */
function parentIn(meta: unknown): Context {
  const parent = parseTraceParent(metaText(meta, TRACEPARENT_META));
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = parent;
  const state = metaText(meta, TRACESTATE_META);
  const traceState = state !== undefined && state.length <= TRACESTATE_MAX ? createTraceState(state) : undefined;
  const remote = { traceId, spanId, traceFlags: flags & 1, isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, { ...remote, ...(traceState !== undefined && { traceState }) });
}

class CountedQueue implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  readonly #counts: { sent: number; lost: number };
  #waiting = 0;
  #isFailing = false;

  constructor(
    exporter: SpanExporter,
    counts: { sent: number; lost: number },
    onChange: (why: string | undefined) => void,
  ) {
    this.#counts = counts;
    const counted: SpanExporter = {
      export: (spans, done) => {
        this.#waiting -= spans.length;
        exporter.export(spans, (result) => {
          const isFailing = result.code !== 0;
          counts[isFailing ? "lost" : "sent"] += spans.length;
          if (isFailing !== this.#isFailing) onChange(isFailing ? (result.error?.message ?? "refused") : undefined);
          this.#isFailing = isFailing;
          // The SDK would print a failure, which `onChange` already reports.
          done({ code: 0 });
        });
      },
      shutdown: () => exporter.shutdown(),
    };
    this.#batches = new BatchSpanProcessor({ exporter: counted, maxQueueSize: WAITING_MAX });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & 1) === 0) return;
    if (this.#waiting >= WAITING_MAX) {
      this.#counts.lost += 1;
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }
}
