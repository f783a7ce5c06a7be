/** Names of the files that a backup contains. */

export const LEDGER = "ledger.sqlite3";
export const EVENTS = "logstream.sqlite3";
/** Keys to check tokens, not the tokens (protocol/proof.ts). Keys decide who may connect, so a restore writes them only on request. */
export const TOKENS = "tokens.json";
/** Address of a broker's door, in older backups. A restore never unpacks it, because a backup must not open a port. */
const LISTEN = "listen.json";
/** Upstream's settings and names. A restore writes them only if they are missing. */
export const SETTINGS_FILES = ["config.json", "identity.txt", "people_map.json", "known_entities.json"] as const;

/** Names that a backup may contain, each at most once. */
export const NAMES: ReadonlySet<string> = new Set([LEDGER, EVENTS, TOKENS, LISTEN, ...SETTINGS_FILES]);
