/** How long a client goes on without an answer before its agent hears of it, and how often it tries meanwhile. Used by link.ts. */

/** Limits how long a request is repeated to brokers that are busy or keep dying, before the caller gets an error. */
export const REPEAT_TIMEOUT_MS = 60_000;
/** Shorter than REPEAT_TIMEOUT_MS, so that a caller that waits that long still hears the reason. */
export const BUSY_TIMEOUT_MS = 45_000;
/** Limits the wait for a remote broker that was there a moment ago: it restarts, or the connection to it is broken. */
export const RESTART_TIMEOUT_MS = 10_000;
/** RESTART_TIMEOUT_MS for a link that spools: an agent hears within a second that it has no broker. */
export const OUTAGE_TIMEOUT_MS = 700;
/** Far longer than a broker that is being started here takes to answer. */
export const STARTING_TIMEOUT_MS = 10_000;
export const RETRY_MS = 50;
export const RETRY_MAX_MS = 1_000;
/** Limits the pause between attempts to find a broker for spooled writes. */
export const SPOOL_RETRY_MAX_MS = 5_000;
