/**
 * The ledger's table of entries of Roampal's graphs. Imported by schema.ts; a ledger of an older version runs the same text as its
 * migration.
 */
export const CARRIED_SCHEMA = `
-- One row an entry. "id": a JSON array of the file, the section and the name, so that rows of a section follow each other; of the file
-- and the section where that has no names, of the file where it is empty. "value": JSON, with the words of users.
CREATE TABLE IF NOT EXISTS carried_graph (id TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
`;
