/** `tools/call`: checks the arguments, runs the tool, and answers as upstream does (palace.md 2.3, 2.4). */
import { redactAnswer } from "../../memory/text/redact.ts";
import { ERROR_TEXT_MAX, RpcFailure } from "../../protocol/rpc-error.ts";
import { checkArguments } from "../../protocol/tools/arguments.ts";
import { runReadTool } from "../tools/reads.ts";
import { cut } from "../../base/shorten.ts";
import { isRecord } from "../../base/parse-json.ts";
import { PROOF_WING } from "../../protocol/status.ts";
import { REPLAYED_META } from "../../protocol/headers.ts";
import { RPC } from "../../protocol/spec.ts";
import { toolResult } from "../../protocol/tools/result.ts";
import { findTool, type Tool, type ToolsWith } from "../../protocol/tools/table.ts";
import { filesFor } from "../file-access.ts";
import { requestId } from "./answers.ts";
import { type Call, inTurn, type MethodsDependencies, type OpenPalace, palaceAfterWrites } from "./call.ts";
import { submit } from "./submit.ts";

type Values = Record<string, unknown>;
type BrokerTool = (palace: OpenPalace, values: Values, call: Call, dependencies: MethodsDependencies) => unknown;

const BROKER_TOOLS: Readonly<Record<ToolsWith<{ keeper: "broker" }>, BrokerTool>> = {
  event_wait: ({ logstream }, values, { peer, signal }) => logstream.wait(peer.id, values, signal),
  mesh_peers: ({ logstream, reads }) => {
    const drawers = reads.isFounded() ? reads.reader.drawerCount() : null;
    return logstream.mesh({ drawers, embedder: reads.embedder()?.identity.id ?? null });
  },
  mine: (_palace, values, call, { mines }) => mines.mine(values, call.peer, call.signal, progressOf(call)),
};

export async function callTool(dependencies: MethodsDependencies, call: Call): Promise<unknown> {
  const { name, arguments: given } = call.params;
  const refuse = (why: string): RpcFailure =>
    new RpcFailure({ code: RPC.INVALID_PARAMS, message: `Invalid params: ${why}` });
  if (name === undefined) throw refuse("'name' is required for tools/call");
  if (typeof name !== "string" || (given !== undefined && given !== null && !isRecord(given)))
    throw refuse("'name' must be a string and 'arguments' an object");
  const tool = findTool(name);
  // MCP 2026-07-28 requires INVALID_PARAMS; MemPalace answers older clients with METHOD_NOT_FOUND.
  const unknown = call.isModern ? RPC.INVALID_PARAMS : RPC.METHOD_NOT_FOUND;
  if (tool === undefined) throw new RpcFailure({ code: unknown, message: `Unknown tool: ${cut(name)}` });
  const checked = checkArguments(tool, given);
  if (!checked.ok) throw new RpcFailure(checked.error);

  const { value, replayed } = await carryOut(tool, checked.values, call, dependencies);
  if (tool.name === "search" && checked.values["wing"] !== PROOF_WING) dependencies.metrics.usage.countSearch(value);
  const masked = tool.isMasked ? await redactAnswer(value, dependencies.redact) : value;
  const result = toolResult(tool, bounded(masked), call.isModern);
  return replayed ? { ...result, _meta: { [REPLAYED_META]: true } } : result;
}

async function carryOut(
  tool: Tool,
  values: Values,
  call: Call,
  dependencies: MethodsDependencies,
): Promise<{ value: unknown; replayed: boolean }> {
  if (tool.kind === "write") return submit(dependencies, tool.name, values, call);
  if (tool.keeper === "broker") {
    const palace = await palaceAfterWrites(dependencies, call);
    return { value: await BROKER_TOOLS[tool.name](palace, values, call, dependencies), replayed: false };
  }
  const turns = call.turns[tool.keeper === "log" ? "log" : "palace"];
  const value = await inTurn(dependencies, call, turns, (palace) => read(tool, values, palace, call, dependencies));
  return { value, replayed: false };
}

function read(
  { keeper, name }: Exclude<Tool & { kind: "read" }, { keeper: "broker" }>,
  values: Values,
  palace: OpenPalace,
  call: Call,
  dependencies: MethodsDependencies,
): unknown {
  if (keeper === "log") return palace.logstream.read(name, values);
  const files = filesFor(call.peer, palace.reads.files, dependencies.openedRoots);
  const { agent, project = [] } = call.peer;
  return runReadTool({ ...palace.reads, files, project, own: palace.reads.searches.of(agent) }, name, values);
}

/** Reports progress to a client that asked for it. */
function progressOf({ params, notify }: Call): (done: number, total: number, name: string) => void {
  const token = isRecord(params["_meta"]) ? params["_meta"]["progressToken"] : undefined;
  if (notify === undefined || requestId(token) === null) return () => {};
  return (progress, total, message) =>
    notify("notifications/progress", { progressToken: token, progress, total, message });
}

/** Shortens a refusal, because it may quote a long argument. */
function bounded(value: unknown): unknown {
  return isRecord(value) && typeof value["error"] === "string"
    ? { ...value, error: cut(value["error"], ERROR_TEXT_MAX) }
    : value;
}
