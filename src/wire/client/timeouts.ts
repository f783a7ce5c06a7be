/** Limits of a client's wait for a broker: how long it tries before its agent gets an error, and the pauses between its tries. */

/** Time for which a request is repeated to brokers that are busy or keep dying, before the caller gets an error. */
export const REPEAT_TIMEOUT_MS = 60_000;
/** Time for which a request is repeated to a busy broker. It is shorter than REPEAT_TIMEOUT_MS, so the caller still gets the reason. */
export const BUSY_TIMEOUT_MS = 45_000;
/** Time to wait for a remote broker that answered a moment ago: it restarts, or the connection is broken. */
export const RESTART_TIMEOUT_MS = 10_000;
/** Replaces RESTART_TIMEOUT_MS for a link with a spool, so that an agent learns within a second that no broker answers. */
export const OUTAGE_TIMEOUT_MS = 700;
/** Time to wait for a broker that this machine is starting; it answers far sooner. */
export const STARTING_TIMEOUT_MS = 10_000;
export const RETRY_MS = 50;
export const RETRY_MAX_MS = 1_000;
/** Maximum pause between attempts to find a broker for spooled writes. */
export const SPOOL_RETRY_MAX_MS = 5_000;
