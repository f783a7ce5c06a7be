/** Makes the span of a call by OpenTelemetry's conventions for MCP. A span never has arguments or answers, which may quote a memory. */
import { isErrorCode } from "../base/errors.ts";
import { isRecord } from "../base/parse-json.ts";
import type { SpanAttributes } from "../base/trace.ts";
import { findTool } from "./tools/table.ts";

/** Maximum length of a request's id in a span; the rest is cut off. The client chooses the id. */
const ID_MAX = 100;

/** Returns the span of a request; undefined if it is not traced. `isOurs`: returns true for the traced methods besides `tools/call`. */
export function spanOfCall(
  { method, id, params }: Record<string, unknown>,
  isOurs: (method: string) => boolean = () => false,
): { name: string; attributes: SpanAttributes } | undefined {
  if (typeof method !== "string" || (typeof id !== "string" && typeof id !== "number")) return undefined;
  const common = { "mcp.method.name": method, "jsonrpc.request.id": String(id).slice(0, ID_MAX) };
  if (method === "tools/call") {
    // An unknown name is the peer's text: with it, a peer could fill the collector with new span names.
    const tool = findTool(isRecord(params) ? params["name"] : undefined)?.fullName ?? "unknown";
    const attributes = { ...common, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool };
    return { name: `${method} ${tool}`, attributes };
  }
  return isOurs(method) ? { name: method, attributes: common } : undefined;
}

/** Returns attributes and kind of failure for a span. `answer`: a JSON-RPC response; undefined for a cancelled request. */
export function endOfCall(answer: unknown): { attributes: SpanAttributes; error: string | undefined } {
  if (!isRecord(answer)) return { attributes: {}, error: "cancelled" };
  const { error, result } = answer;
  if (!isRecord(error)) {
    const isRefused = isRecord(result) && result["isError"] === true;
    return { attributes: {}, error: isRefused ? "tool_error" : undefined };
  }
  const status = typeof error["code"] === "number" ? String(error["code"]) : "unknown";
  const own = isRecord(error["data"]) ? error["data"]["code"] : undefined;
  return { attributes: { "rpc.response.status_code": status }, error: isErrorCode(own) ? own : status };
}
