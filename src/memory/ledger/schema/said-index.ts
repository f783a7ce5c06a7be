/** The index of the times at which texts were said, so that a time window is answered without reading a drawer. */

const DATE = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-*";

const valueOf = (key: string): string => `json_extract(metadata, '$.${key}')`;

/** Returns SQL that converts a time with an offset into UTC with a final Z. Times without an offset are local times and stay. */
const momentOf = (key: string): string =>
  `CASE WHEN ${valueOf(key)} GLOB '${DATE}Z' OR ${valueOf(key)} GLOB '${DATE}T*[+-][0-9][0-9]:[0-9][0-9]'
      THEN strftime('%Y-%m-%dT%H:%M:%fZ', ${valueOf(key)})
    WHEN ${valueOf(key)} GLOB '${DATE}' THEN ${valueOf(key)} END`;

/** SQL for the time at which a drawer's text was said, else its filing time, else null. Swept messages have the time in `timestamp`. */
export const SAID_AT = `coalesce(${momentOf("authored_at")},
  CASE WHEN ${valueOf("ingest_mode")} = 'sweep' THEN ${momentOf("timestamp")} END,
  CASE WHEN ${valueOf("filed_at")} GLOB '${DATE}' THEN ${valueOf("filed_at")} END)`;

/** Makes the index. It replaces the index of filing times in ledgers up to version 18. */
export const SAID_SCHEMA = `
DROP INDEX IF EXISTS drawer_filed;
CREATE INDEX IF NOT EXISTS drawer_said ON drawer (${SAID_AT}, wing, room);
`;
