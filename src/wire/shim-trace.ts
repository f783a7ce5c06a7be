/** Spans of the shim's tool calls, from the agent's request to its answer, outages included. Loaded only if tracing is on. */
import { openTelemetry } from "../base/open-telemetry.ts";
import { parseRecord } from "../base/parse-json.ts";
import { type Span, TRACEPARENT_META, type Tracer } from "../base/trace.ts";
import { endOfCall, spanOfCall } from "../protocol/spans.ts";
import type { RequestId } from "../protocol/spec.ts";

/** Time for the last spans to reach their collector, ms. The agent has closed stdin by then. */
const CLOSE_MAX_MS = 1_000;

export class ShimTrace {
  // The shim has no log, and stdout has only the protocol's messages. The broker's log reports a collector that accepts nothing.
  readonly #tracer: Tracer = openTelemetry({ service: "palace-shim", onChange: () => {} });
  readonly #open = new Map<RequestId, Span>();

  /** Begins the span of a request and returns its `_meta` for the broker, whose span is then inside this one. */
  begin(id: RequestId, message: Record<string, unknown>, meta: object, revision: string | undefined): object {
    const call = spanOfCall(message);
    if (call === undefined) return meta;
    const attributes = { ...call.attributes, "network.transport": "pipe", "mcp.protocol.version": revision };
    const span = this.#tracer.call(call.name, "client", meta, attributes);
    this.#open.set(id, span);
    return { ...meta, [TRACEPARENT_META]: span.traceparent };
  }

  /** Ends the span of the request that this line to the agent answers. */
  answer(line: Buffer | string): void {
    if (this.#open.size === 0) return;
    const message = parseRecord(line.toString());
    this.#end(message["id"] as RequestId, message);
  }

  cancel(id: RequestId): void {
    this.#end(id, undefined);
  }

  /** Ends the open spans and sends all spans that are not sent yet. Never rejects. */
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
