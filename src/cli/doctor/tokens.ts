/** Tokens of the TCP door that have expired or soon will, for `palace doctor`. From the palace's own file. Imported by checks.ts. */
import { readTokens, type TokenRecord } from "../../broker/door/tokens.ts";
import { isBridged } from "../../wire/client/bridge.ts";
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";
import { plural } from "../terminal/output.ts";
import { type Check, ok, warn } from "./check.ts";

const DAY_MS = 86_400_000;
const SOON_MS = 7 * DAY_MS;

/** Checks the tokens' expiry. Returns no check without tokens, or if the broker is another machine's. */
export function checkTokens(config: Config, nowMs = Date.now()): Check[] {
  if (config.endpoint !== undefined || isBridged(config)) return [];
  let tokens: TokenRecord[];
  try {
    tokens = readTokens(config.paths.tokensFile);
  } catch (error) {
    if (!(error instanceof PalaceError)) throw error;
    return [warn("tokens", `${error.message}; nobody is let in over TCP`, error.hint)];
  }
  if (tokens.length === 0) return [];
  const due = tokens.flatMap(({ name, expiresAtMs }) =>
    expiresAtMs === null || expiresAtMs > nowMs + SOON_MS ? [] : [{ name, expiresAtMs }],
  );
  const [first] = due;
  if (first === undefined) return [ok("tokens", `${plural(tokens.length, "token")}, none of them about to expire`)];
  const said = due.map(({ name, expiresAtMs }) => {
    const day = new Date(expiresAtMs).toISOString().slice(0, 10);
    return expiresAtMs <= nowMs ? `${name} has expired on ${day}` : `${name} expires on ${day}`;
  });
  const hint = `palace bridge token revoke ${first.name}; to give that client a new one: palace bridge token add ${first.name} --days 90`;
  return [warn("tokens", said.join(", "), hint)];
}
