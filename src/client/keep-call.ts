/** One tool call of a command whose broker is away: answered as an agent's is, a write kept. Loaded when it happens. */
import type { Config } from "../config/config.ts";
import type { PalaceError } from "../protocol/errors.ts";
import { IDEMPOTENCY_META, type Json, type JsonObject, type RpcResponse } from "../protocol/spec.ts";
import { toolValue, toPalaceError } from "./client.ts";
import { answerInstead, isOutage } from "./outage.ts";
import { Spool } from "./spool.ts";

export type KeptCall = { config: Config; agent: string; name: string; args: JsonObject; key: string };

/** The tool's value, when the write is on disk. Errors: `away` for all else, and what the broker would say of the arguments. */
export function keepCall({ config, agent, name, args, key }: KeptCall, away: PalaceError): Json {
  if (!isOutage(away)) throw away;
  const params = { name, arguments: args, _meta: { [IDEMPOTENCY_META]: key } };
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const spool = new Spool(config.paths.spoolDir);
  const response = JSON.parse(answerInstead(line, { agent, config, spool, away })) as RpcResponse;
  if ("error" in response) throw toPalaceError(response.error);
  return toolValue(response.result);
}
