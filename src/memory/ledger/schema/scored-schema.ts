/**
 * The ledger's table of single outcomes of drawers, each with its time and source. It has ids and flags, no words. Imported by schema.ts; a
 * ledger of an older version runs the same text as its migration.
 */
export const SCORED_SCHEMA = `
-- "nth": in the order in which they were told. Rows go with their standing, whose before-image holds them.
CREATE TABLE IF NOT EXISTS scored (
  id TEXT NOT NULL,
  nth INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  source TEXT NOT NULL,
  weight REAL NOT NULL,
  conversation TEXT,
  exchange TEXT,
  PRIMARY KEY (id, nth)
) WITHOUT ROWID, STRICT;
`;
