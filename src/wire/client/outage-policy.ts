/**
 * Decides for link.ts what happens to a call without an answer.
 *
 * | Decision       | Action of the link                                                                |
 * | -------------- | --------------------------------------------------------------------------------- |
 * | send           | sends the call now                                                                |
 * | wait           | sends the call over the next connection, with the same idempotency key            |
 * | send again     | sends the call to the same broker again, after a pause                            |
 * | answer offline | answers the call itself: it spools a write, and returns an error for other calls  |
 * | give up        | returns the error                                                                 |
 * | pass on        | returns the broker's answer                                                       |
 */
import type { PalaceError, WireErrorData } from "../../base/errors.ts";
import { ABSENT_TIMEOUT_MS } from "../../protocol/limits.ts";
import { BUSY_TIMEOUT_MS, OUTAGE_TIMEOUT_MS, REPEAT_TIMEOUT_MS, RESTART_TIMEOUT_MS, RETRY_MAX_MS } from "./timeouts.ts";

/**
 * A link's knowledge of its broker.
 * - `unknown`: no broker has answered yet.
 * - `present`: a broker answers.
 * - `refusing`: a broker answers but refuses spooled writes for now, for example because of a full disk. New writes are spooled, too.
 * - `lost`: the connection has ended, and the link waits for the broker.
 * - `absent`: an outage. The link looks for a broker, and calls do not wait for one.
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

/** Returns how long a dial waits for a broker that this machine cannot start, ms. `spools`: the link has a spool. */
export function dialTimeoutMs(presence: Presence, spools: boolean): number {
  if (presence === "absent") return 0;
  if (spools) return OUTAGE_TIMEOUT_MS;
  return presence === "unknown" ? ABSENT_TIMEOUT_MS : RESTART_TIMEOUT_MS;
}

/** Decides about a new call. `isWrite`: a function, because it parses the call and is rarely needed. */
export function fateOfNew(
  presence: Presence,
  isConnected: boolean,
  isWrite: () => boolean,
): "send" | "wait" | "answer offline" {
  if (presence === "refusing" && isWrite()) return "answer offline";
  return isConnected ? "send" : "wait";
}

/**
 * Decides about a call that a broker answered. `data`: the answer's error data. A busy or ending broker has not executed the call.
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
 * Decides after OUTAGE_TIMEOUT_MS without a broker. `isStarting`: this machine is starting a broker. In state `absent` calls do not wait
 * for that broker, because it may exit at once: another process may have locked the palace.
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

/** Returns true if the cause of the error may end by itself; writes are then spooled. The user must fix any other error. */
export function isOutage({ code }: PalaceError): boolean {
  if (["BROKER_STOPPED", "BROKER_START_FAILED", "PALACE_FOREIGN_MOUNT"].includes(code)) return true;
  return code.startsWith("TRANSPORT_") || code.startsWith("STORE_");
}
