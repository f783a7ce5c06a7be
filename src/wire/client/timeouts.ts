/** Time for which a call is repeated to brokers that keep dying. After it the caller gets an error. */
export const REPEAT_TIMEOUT_MS = 60_000;
/** Time for which a call is repeated to a busy broker. It is shorter than REPEAT_TIMEOUT_MS, so that the caller gets BROKER_BUSY. */
export const BUSY_TIMEOUT_MS = 45_000;
/** Time to wait for a broker that has answered before and that this machine cannot start. */
export const RESTART_TIMEOUT_MS = 10_000;
/** Replaces RESTART_TIMEOUT_MS for a link with a spool, so that an agent learns within a second that no broker answers. */
export const OUTAGE_TIMEOUT_MS = 700;
/** Time to wait for a broker that this machine is starting. A broker usually answers far sooner. */
export const STARTING_TIMEOUT_MS = 10_000;
export const RETRY_MS = 50;
export const RETRY_MAX_MS = 1_000;
/** Maximum pause between attempts to find a broker for spooled writes. */
export const SPOOL_RETRY_MAX_MS = 5_000;
