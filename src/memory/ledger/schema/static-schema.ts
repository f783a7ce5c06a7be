/**
 * Static vectors of drawers as int8 codes. `static_renewed` has the rows whose code was made after the drawer's own write, so a reader
 * reads these and the rows above the last row that it knows. Drawers of an older ledger get codes when the broker is idle.
 */
export const STATIC_SCHEMA = `
CREATE TABLE IF NOT EXISTS static_code (row INTEGER PRIMARY KEY, code BLOB NOT NULL, scale REAL NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS static_renewed (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  row INTEGER NOT NULL UNIQUE
) STRICT;
CREATE TRIGGER IF NOT EXISTS static_gone AFTER DELETE ON drawer BEGIN
  DELETE FROM static_code WHERE row = old.row;
  DELETE FROM static_renewed WHERE row = old.row;
END;
`;

/** The trigger `static_gone` of versions 16 and 17. A backup of such a ledger has it, and must be accepted. */
export const STATIC_GONE_17 =
  "CREATE TRIGGER static_gone AFTER DELETE ON drawer BEGIN DELETE FROM static_code WHERE row = old.row; END";

/** Replaces version 16's table, which had a second number for each code and so made writes take longer. */
export const STATIC_BY_ROW = `
DROP TRIGGER IF EXISTS static_gone;
ALTER TABLE static_code RENAME TO static_code_16;
${STATIC_SCHEMA}
INSERT INTO static_code SELECT row, code, scale FROM static_code_16 ORDER BY row;
DROP TABLE static_code_16;
`;
