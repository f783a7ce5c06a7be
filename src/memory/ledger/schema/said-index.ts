/**
 * The index of the moments at which drawers were said, with their places: a time window is answered without reading a drawer.
 * A drawer whose authored time is unknown has its filing time there. Imported by schema.ts and by the code that asks for a window.
 * A ledger of an older version runs the same text as its migration.
 */

const DATE = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-*";

const valueOf = (key: string): string => `json_extract(metadata, '$.${key}')`;

/** Returns SQL: a time with an offset becomes UTC and ends with Z. A time without one is the broker's local time and stays as it is. */
const momentOf = (key: string): string =>
  `CASE WHEN ${valueOf(key)} GLOB '${DATE}Z' OR ${valueOf(key)} GLOB '${DATE}T*[+-][0-9][0-9]:[0-9][0-9]'
      THEN strftime('%Y-%m-%dT%H:%M:%fZ', ${valueOf(key)})
    WHEN ${valueOf(key)} GLOB '${DATE}' THEN ${valueOf(key)} END`;

/** SQL over a drawer: the time at which it was said, compared as text; null if unknown. Swept messages have another key for it. */
export const SAID_AT = `coalesce(${momentOf("authored_at")},
  CASE WHEN ${valueOf("ingest_mode")} = 'sweep' THEN ${momentOf("timestamp")} END,
  CASE WHEN ${valueOf("filed_at")} GLOB '${DATE}' THEN ${valueOf("filed_at")} END)`;

/** Ledgers up to version 18 have an index of filing times. */
export const SAID_SCHEMA = `
DROP INDEX IF EXISTS drawer_filed;
CREATE INDEX IF NOT EXISTS drawer_said ON drawer (${SAID_AT}, wing, room);
`;
