/**
 * When a drawer was filed, as the ledger finds it by: an index of the moments, with the place, so that a window of time is
 * answered without reading a drawer. Imported by schema.ts, reader.ts and whoever asks for a window; a ledger of an older
 * version gets the same text as its migration.
 */

/** SQL over a drawer: upstream's form of the moment, which is compared as text; null where its age is not known. */
export const FILED_AT =
  "CASE WHEN json_extract(metadata, '$.filed_at') GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-*' " +
  "THEN json_extract(metadata, '$.filed_at') END";

export const FILED_SCHEMA = `
CREATE INDEX IF NOT EXISTS drawer_filed ON drawer (${FILED_AT}, wing, room);
`;
