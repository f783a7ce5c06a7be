/** Makes a span for each tool call of the shim. Loaded only if tracing is on. */
import { openTelemetry } from "../base/open-telemetry.ts";
import { parseRecord } from "../base/parse-json.ts";
import { type Span, TRACEPARENT_META, type Tracer } from "../base/trace.ts";
import { endOfCall, spanOfCall } from "../protocol/spans.ts";
import type { RequestId } from "../protocol/spec.ts";

/** Time to send the last spans, after the agent has closed stdin. */
const CLOSE_MAX_MS = 1_000;

export class ShimTrace {
  // Ignores failures of the collector, because the shim has no log. The broker logs such failures.
  readonly #tracer: Tracer = openTelemetry({ service: "palace-shim", onChange: () => {} });
  readonly #open = new Map<RequestId, Span>();

  /** Begins the span of a request. Returns the `_meta` to send, with which the broker's span becomes a child of this span. */
  begin(id: RequestId, message: Record<string, unknown>, meta: object, revision: string | undefined): object {
    const call = spanOfCall(message);
    if (call === undefined) return meta;
    const attributes = { ...call.attributes, "network.transport": "pipe", "mcp.protocol.version": revision };
    const span = this.#tracer.call(call.name, "client", meta, attributes);
    this.#open.set(id, span);
    return { ...meta, [TRACEPARENT_META]: span.traceparent };
  }

  /** Ends the span of a request. `line`: the answer. */
  answer(line: Buffer | string): void {
    if (this.#open.size === 0) return;
    const message = parseRecord(line.toString());
    this.#end(message["id"] as RequestId, message);
  }

  cancel(id: RequestId): void {
    this.#end(id, undefined);
  }

  /** Ends the open spans and sends all unsent spans. Never rejects. */
  close(): Promise<void> {
    for (const id of this.#open.keys()) this.cancel(id);
    return this.#tracer.close(CLOSE_MAX_MS);
  }

  #end(id: RequestId, message: unknown): void {
    const span = this.#open.get(id);
    if (span === undefined) return;
    this.#open.delete(id);
    const { attributes, error } = endOfCall(message);
    span.end(attributes, error);
  }
}
