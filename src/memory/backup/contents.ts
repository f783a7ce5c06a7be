/** Names of the files that a backup contains. */

export const LEDGER = "ledger.sqlite3";
export const EVENTS = "logstream.sqlite3";
/**
 * File of tokens, beside the ledger. It contains no secret that opens a door (broker/door/tokens.ts), but it says who may connect. It is
 * therefore restored only on request.
 */
export const TOKENS = "tokens.json";
/** File with the address of a broker's door, in older backups. A restore never unpacks this file: a backup must not open a port here. */
const LISTEN = "listen.json";
/** Upstream's settings and names. A restore writes them only if they are missing. */
export const SETTINGS_FILES = ["config.json", "identity.txt", "people_map.json", "known_entities.json"] as const;

/** Names that a restore may unpack, each at most once. */
export const NAMES: ReadonlySet<string> = new Set([LEDGER, EVENTS, TOKENS, LISTEN, ...SETTINGS_FILES]);
