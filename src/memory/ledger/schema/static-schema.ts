/**
 * Static vectors of drawers as int8 codes, made in the drawer's own transaction. A code that is replaced gets a new `seq`, so
 * that a reader finds what is new since it looked. A ledger of an older version runs the same text as its migration; the
 * codes of its drawers follow in quiet moments (write/maintenance.ts).
 */
export const STATIC_SCHEMA = `
CREATE TABLE IF NOT EXISTS static_code (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  row INTEGER NOT NULL UNIQUE,
  code BLOB NOT NULL,
  scale REAL NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS static_gone AFTER DELETE ON drawer BEGIN
  DELETE FROM static_code WHERE row = old.row;
END;
`;
