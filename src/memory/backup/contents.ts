/** Names of the files that a backup holds. */

export const LEDGER = "ledger.sqlite3";
export const EVENTS = "logstream.sqlite3";
/**
 * Tokens' file, beside the ledger. It holds no secret that opens a door (broker/door/tokens.ts), but says who may
 * connect, so it is restored only on request.
 */
export const TOKENS = "tokens.json";
/** Address of a door. Older backups hold this file. A restore never unpacks it, because a file from elsewhere must open no port here. */
const LISTEN = "listen.json";
/** Upstream's settings and names, which a restore writes only where they are missing. */
export const SETTINGS_FILES = ["config.json", "identity.txt", "people_map.json", "known_entities.json"] as const;

/** Names that a restore may unpack, each at most once. */
export const NAMES: ReadonlySet<string> = new Set([LEDGER, EVENTS, TOKENS, LISTEN, ...SETTINGS_FILES]);
