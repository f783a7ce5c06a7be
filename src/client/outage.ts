/**
 * Answers an agent while no broker can be reached: the handshake, the list of tools, a spooled write's acknowledgement, and
 * an immediate error for every read. Loaded only in an outage.
 */
import type { Config } from "../config/config.ts";
import { answerWithoutPalace } from "../engine/tools/apply.ts";
import { checkArguments } from "../engine/tools/arguments.ts";
import { isRecord } from "../platform/is-record.ts";
import { VERSION } from "../platform/version.ts";
import { PalaceError } from "../protocol/errors.ts";
import { introduction } from "../protocol/introduction.ts";
import { IDEMPOTENCY_META, type RpcError } from "../protocol/spec.ts";
import { toolsOf } from "../protocol/tools/profile.ts";
import { toolResult } from "../protocol/tools/result.ts";
import { findTool, type Tool } from "../protocol/tools/table.ts";
import { isForLater, type Message, parseMessage } from "./delivery.ts";
import { promisedId } from "./id-recipe.ts";
import { toRpcError } from "./rpc-error.ts";
import type { Spool, SpooledWrite } from "./spool.ts";

/** The reason why there is no broker, and the spool for writes. */
export type Absence = { agent: string; config: Config; spool: Spool; away: PalaceError };

/** Returns the answer to the request `line` in the broker's place. A write is on disk when this returns. */
export function answerInstead(line: string, absence: Absence): string {
  const message = parseMessage(line);
  const id = message.id ?? null;
  try {
    return JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(message, line, absence) });
  } catch (error) {
    return JSON.stringify({ jsonrpc: "2.0", id, error: error instanceof Refusal ? error.error : toRpcError(error) });
  }
}

function resultOf({ method, params = {} }: Message, line: string, { agent, config, spool, away }: Absence): object {
  if (method === "initialize") return introduction(params["protocolVersion"], VERSION);
  if (method === "ping") return {};
  if (method === "tools/list") return { tools: toolsOf(config.tools) };
  const tool = method === "tools/call" ? findTool(params["name"]) : undefined;
  if (tool?.kind !== "write") throw away;
  const checked = checkArguments(tool, params["arguments"]);
  if (!checked.ok) throw new Refusal(checked.error);
  if (!isForLater(tool, checked.values)) throw away;
  const meta = params["_meta"];
  const key = isRecord(meta) ? meta[IDEMPOTENCY_META] : undefined;
  if (typeof key !== "string") throw away;
  const atMs = Date.now();
  const refused = answerWithoutPalace({
    ...{ key, isRepeatable: true, atMs, requestId: "" },
    method: tool.name,
    params: checked.values,
    peer: { agent, door: "", uid: -1, pid: process.pid },
  });
  if (refused !== undefined) return toolResult(tool, refused.value);
  append(spool, { atMs, agent, tool: tool.fullName, key, line }, away);
  const id = tool.name === "add_drawer" ? promisedId(config.paths, checked.values) : undefined;
  const kept = `No broker can be reached (${away.message}). The write is safe on this machine and is filed as soon as there is one`;
  if (tool.surface === "outcome") return toolResult(tool, { text: `${kept}.` });
  return toolResult(tool, {
    success: true,
    spooled: true,
    ...(id !== undefined && { drawer_id: id }),
    message: `${kept}; ${aboutId(tool, id)}.`,
  });
}

/** Errors: those of the spool. In a sandbox that lets nothing be written there either, the sandbox is the one to name. */
function append(spool: Spool, write: SpooledWrite, away: PalaceError): void {
  try {
    spool.append(write);
  } catch (error) {
    if (away.code !== "TRANSPORT_SANDBOXED" || !(error instanceof PalaceError)) throw error;
    const message = `${away.message}, and the write cannot be kept on this machine either: ${error.message}`;
    throw new PalaceError(away.code, message, away.hint, { cause: error });
  }
}

function aboutId({ name }: Tool, id: string | undefined): string {
  if (id !== undefined) return "drawer_id is the id that the drawer has from then on";
  if (name !== "add_drawer") return "ids of what it makes are known then";
  return "its id is known then, as no answer has shown on this machine how this palace makes ids";
}

class Refusal extends Error {
  readonly error: RpcError;
  constructor(error: RpcError) {
    super(error.message);
    this.error = error;
  }
}
