/** Wraps an engine's dispatch, so that each traced call has a span with its outcome. Without a tracer, returns the dispatch itself. */
import { isRecord } from "../../base/parse-json.ts";
import { metaText, parseTraceParent, type Span, TRACEPARENT_META, type Tracer, tracerInUse } from "../../base/trace.ts";
import { REPLAYED_META } from "../../protocol/headers.ts";
import type { RpcResponse } from "../../protocol/spec.ts";
import { endOfCall, spanOfCall } from "../../protocol/spans.ts";
import type { Dispatch } from "../engine.ts";
import type { Peer } from "../peer.ts";
import { isOwnMethod } from "./permissions.ts";

/** Methods about the broker itself. They have a span only inside a caller's trace, because `palace ui` calls some of them all the time. */
const LOOKS = /^(?:palace|job|backup|token|spool|ui|broker)\./;

export function withSpans(dispatch: Dispatch): Dispatch {
  const tracer = tracerInUse();
  if (tracer === undefined) return dispatch;
  return async (peer, message, ...more) => {
    const span = begin(tracer, peer, message);
    if (span === undefined) return dispatch(peer, message, ...more);
    try {
      const answer = await span.run(() => dispatch(peer, message, ...more));
      end(span, answer);
      return answer;
    } catch (error) {
      span.end({}, "INTERNAL");
      throw error;
    }
  };
}

function begin(tracer: Tracer, peer: Peer, message: unknown): Span | undefined {
  if (!isRecord(message)) return undefined;
  const params = isRecord(message["params"]) ? message["params"] : {};
  const meta = params["_meta"];
  const isAsked = parseTraceParent(metaText(meta, TRACEPARENT_META)) !== undefined;
  const call = spanOfCall(message, (own) => isOwnMethod(own) && (isAsked || !LOOKS.test(own)));
  if (call === undefined) return undefined;
  const { agent, door, revision } = peer;
  const transport = door === "tcp" ? "tcp" : "unix";
  return tracer.call(call.name, "server", meta, {
    ...call.attributes,
    ...{ "gen_ai.agent.name": agent, "network.transport": transport, "mcp.protocol.version": revision },
  });
}

function end(span: Span, answer: RpcResponse | undefined): void {
  const { attributes, error } = endOfCall(answer);
  const result = answer !== undefined && "result" in answer ? answer.result : undefined;
  const meta = isRecord(result) ? result["_meta"] : undefined;
  span.end(
    { ...attributes, ...(isRecord(meta) && meta[REPLAYED_META] === true && { "palace.replayed": true }) },
    error,
  );
}
