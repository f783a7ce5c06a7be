/** Lets clients of MCP 2026-07-28 use a child engine that speaks an older revision: changes results and errors to the newer form. */
import { isRecord } from "../../base/parse-json.ts";
import {
  type Capabilities,
  discovered,
  type Implementation,
  LISTS_TTL_MS,
  modernResult,
} from "../../protocol/modern.ts";
import { type RpcError, RPC } from "../../protocol/spec.ts";
import type { Introduction } from "./session.ts";

/** Requests of MCP 2026-07-28 that the broker forwards, each with the capability that the child must have announced. */
const PASSED_ON: Readonly<Record<string, string>> = {
  "tools/list": "tools",
  "tools/call": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resources",
  "resources/read": "resources",
  "prompts/list": "prompts",
  "prompts/get": "prompts",
  "completion/complete": "completions",
};
const RESOURCE_NOT_FOUND = -32002;

export function isPassedOn(method: string): boolean {
  return Object.hasOwn(PASSED_ON, method);
}

/** Returns the child's capabilities without notifications, because only clients of older revisions get a child's notifications. */
export function capabilitiesOf({ capabilities }: Introduction): Capabilities {
  const told = new Set(Object.values(PASSED_ON).filter((name) => isRecord(capabilities[name])));
  return Object.fromEntries([...told].map((name) => [name, {}]));
}

export function implementationOf({ serverInfo }: Introduction): Implementation {
  return { ...serverInfo, name: String(serverInfo["name"] ?? ""), version: String(serverInfo["version"] ?? "") };
}

export function discoveredChild(child: Introduction): Record<string, unknown> {
  return discovered(capabilitiesOf(child), child.instructions);
}

/** Puts a child's result into the form of MCP 2026-07-28. Clients must not cache a child's lists, which may change without notice. */
export function asModern(method: string, result: unknown, child: Introduction): Record<string, unknown> {
  const ttlMs = method === "server/discover" ? LISTS_TTL_MS : 0;
  return modernResult(method, withoutExecution(result), { serverInfo: implementationOf(child), ttlMs });
}

/** Removes the field `execution` of each tool, which MCP 2026-07-28 does not have. */
function withoutExecution(result: unknown): unknown {
  if (!isRecord(result) || !Array.isArray(result["tools"])) return result;
  const tools = result["tools"].map((tool: unknown) => {
    if (!isRecord(tool)) return tool;
    const { execution: _execution, ...rest } = tool;
    return rest;
  });
  return { ...result, tools };
}

export function asModernError(error: RpcError): RpcError {
  return error.code === RESOURCE_NOT_FOUND ? { ...error, code: RPC.INVALID_PARAMS } : error;
}
