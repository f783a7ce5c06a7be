/** Spools the exchange of a turn verbatim if no broker answered. The next client delivers it. */
import { isOutage } from "../wire/client/outage-policy.ts";
import { Spool } from "../wire/client/spool.ts";
import type { Config } from "../config/config.ts";
import { PalaceError } from "../base/errors.ts";
import { IDEMPOTENCY_META } from "../protocol/headers.ts";
import type { Exchange } from "./signal/signals.ts";
import { endOf, type Turn } from "./turn.ts";

/** `key`: the same in each attempt, because the broker may have received any attempt. `atMs`: when the turn ended. */
type LateTurn = Readonly<{
  config: Config;
  agent: string;
  turn: Turn;
  exchange: Exchange;
  key: string;
  atMs: number;
}>;

/** Writes the exchange to the spool; `remove` deletes it there. Errors of both functions: TRANSPORT_SPOOL_FULL, STORE_*. */
export function spoolExchange({ config, agent, turn, exchange, key, atMs }: LateTurn): { remove: () => void } {
  const params = { ...endOf(turn, exchange), _meta: { [IDEMPOTENCY_META]: key } };
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "turn.end", params });
  const spool = new Spool(config.paths.spoolDir);
  const name = spool.append({ atMs, agent, tool: "turn.end", key, line });
  return { remove: () => spool.remove(name) };
}

/** Returns the error if waiting for a broker may help, and throws it otherwise. */
export function worthWaiting(error: unknown): PalaceError {
  if (error instanceof PalaceError && (error.retryable || isOutage(error))) return error;
  throw error;
}
