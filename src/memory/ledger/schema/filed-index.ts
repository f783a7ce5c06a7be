/**
 * The index of the moments at which drawers were filed, with their places: a time window is answered without reading a
 * drawer. Imported by schema.ts, by reader.ts and by the code that asks for a window; a ledger of an older version runs
 * the same text as its migration.
 */

/** SQL over a drawer: the moment in upstream's form, which is compared as text; null where the age is unknown. */
export const FILED_AT =
  "CASE WHEN json_extract(metadata, '$.filed_at') GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-*' " +
  "THEN json_extract(metadata, '$.filed_at') END";

export const FILED_SCHEMA = `
CREATE INDEX IF NOT EXISTS drawer_filed ON drawer (${FILED_AT}, wing, room);
`;
