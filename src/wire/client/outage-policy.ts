/**
 * Decides what happens to a call while no broker answers it. It has two small state machines without timers and files, for link.ts: one for
 * the link's knowledge of its broker (`Presence`), one for the fate of a call. Every shim imports it, so it imports almost nothing.
 *
 * | Decision       | The call                                                                              |
 * | -------------- | ------------------------------------------------------------------------------------- |
 * | send           | goes to the broker now                                                                |
 * | wait           | goes to the next connection, with the same idempotency key                            |
 * | send again     | goes to the same broker again, after a pause                                          |
 * | answer offline | is answered here: a write is spooled, any other call gets an error (answer-offline.ts) |
 * | give up        | gets the error                                                                        |
 * | pass on        | has its answer                                                                        |
 */
import type { PalaceError, WireErrorData } from "../../base/errors.ts";
import { ABSENT_TIMEOUT_MS } from "../../protocol/limits.ts";
import { BUSY_TIMEOUT_MS, OUTAGE_TIMEOUT_MS, REPEAT_TIMEOUT_MS, RESTART_TIMEOUT_MS, RETRY_MAX_MS } from "./timeouts.ts";

/**
 * A link's knowledge of its broker.
 * - `unknown`: no broker has answered yet.
 * - `present`: a broker answers.
 * - `refusing`: a broker answers but refuses spooled writes for now (a full disk, say). New writes are spooled behind them.
 * - `lost`: the connection has ended, and the link waits for the broker.
 * - `absent`: an outage. The link looks for a broker but no longer waits for one.
 */
export type Presence = "unknown" | "present" | "refusing" | "lost" | "absent";
/** Event that changes what a link knows about its broker. */
export type Sighting = "connected" | "took the spool" | "refused the spool" | "ended" | "outage";

/** Returns the state after `sighting`. */
export function nextPresence(presence: Presence, sighting: Sighting): Presence {
  switch (sighting) {
    case "connected":
      return "present";
    case "took the spool":
      return presence === "refusing" ? "present" : presence;
    case "refused the spool":
      return presence === "present" ? "refusing" : presence;
    case "ended":
      return "lost";
    case "outage":
      return "absent";
  }
}

/** Returns how long a dial waits for a broker that cannot be started here, ms. `spools`: the link has a spool. */
export function dialTimeoutMs(presence: Presence, spools: boolean): number {
  if (presence === "absent") return 0;
  if (spools) return OUTAGE_TIMEOUT_MS;
  return presence === "unknown" ? ABSENT_TIMEOUT_MS : RESTART_TIMEOUT_MS;
}

/** Decides about a new call. `isWrite` is called only if a broker refuses writes. */
export function fateOfNew(
  presence: Presence,
  isConnected: boolean,
  isWrite: () => boolean,
): "send" | "wait" | "answer offline" {
  if (presence === "refusing" && isWrite()) return "answer offline";
  return isConnected ? "send" : "wait";
}

/**
 * Decides about a call that has an answer. `data`: the answer's error data. A broker that is busy or shutting down did not take the call.
 */
export function fateOfAnswered(
  data: Partial<WireErrorData> | undefined,
  waitedMs: number,
): "pass on" | "wait" | { sendAgainAfterMs: number } {
  if (data?.code === "BROKER_SHUTTING_DOWN") return "wait";
  if (data?.code === "BROKER_BUSY" && waitedMs < BUSY_TIMEOUT_MS)
    return { sendAgainAfterMs: data.retryAfterMs ?? RETRY_MAX_MS };
  return "pass on";
}

/**
 * Decides after OUTAGE_TIMEOUT_MS without a broker. `isStarting`: this machine is starting one. In state `absent` the call does not wait
 * for the new broker: it may exit again, because an unreachable process has locked the palace.
 */
export function fateOfSilent(presence: Presence, isStarting: boolean, isBridgeUp: boolean): "wait" | "answer offline" {
  return (isStarting && presence !== "absent") || isBridgeUp ? "wait" : "answer offline";
}

/** Decides about calls when no broker can be reached. */
export function fateOfUnreachable(error: PalaceError, spools: boolean): "answer offline" | "give up" {
  return spools && isOutage(error) ? "answer offline" : "give up";
}

/** Decides about a call that has been sent to brokers for `waitedMs` without an answer. */
export function fateOfRepeated(waitedMs: number): "wait" | "give up" {
  return waitedMs > REPEAT_TIMEOUT_MS ? "give up" : "wait";
}

/** Returns true if waiting for a broker can end the error. The user must fix the cause of any other error; its message says how. */
export function isOutage({ code }: PalaceError): boolean {
  if (["BROKER_STOPPED", "BROKER_START_FAILED", "PALACE_FOREIGN_MOUNT"].includes(code)) return true;
  return code.startsWith("TRANSPORT_") || code.startsWith("STORE_");
}
