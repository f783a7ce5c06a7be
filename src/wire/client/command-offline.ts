/** Answers a command's tool call without a broker, in the same way as the shim answers an agent's call. Loaded only in an outage. */
import { parseRecord } from "../../base/parse-json.ts";
import type { Config } from "../../config/config.ts";
import type { PalaceError } from "../../base/errors.ts";
import { IDEMPOTENCY_META } from "../../protocol/headers.ts";
import { type Json, type JsonObject, type RpcResponse } from "../../protocol/spec.ts";
import { toolValue, toPalaceError } from "./client.ts";
import type { OfflineRules } from "./offline-rules.ts";
import { answerInstead } from "./answer-offline.ts";
import { isOutage } from "./outage-policy.ts";
import { Spool } from "./spool.ts";

/** Tool call of a command. `key`: idempotency key. */
export type CommandCall = { config: Config; agent: string; name: string; args: JsonObject; key: string };
type Outage = Readonly<{ away: PalaceError; rules: OfflineRules }>;

/** Spools a write and returns the tool's value. Errors: `away` if the call cannot be spooled; bad arguments; see Spool.append. */
export function spoolCall({ config, agent, name, args, key }: CommandCall, { away, rules }: Outage): Json {
  if (!isOutage(away)) throw away;
  const params = { name, arguments: args, _meta: { [IDEMPOTENCY_META]: key } };
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const spool = new Spool(config.paths.spoolDir);
  const response = parseRecord(answerInstead(line, { agent, config, rules, spool, away })) as RpcResponse;
  if ("error" in response) throw toPalaceError(response.error);
  return toolValue(name, response.result);
}
