/**
 * Static vectors of drawers as int8 codes, made in the drawer's own transaction. `static_renewed` names the rows whose code was made after
 * the drawer's own write. A reader therefore reads the rows above the last row that it knows, and the rows in `static_renewed`. A drawer of
 * an older ledger gets its code when the broker is idle (write/maintenance.ts).
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

/** SQL of the trigger `static_gone` in versions 16 and 17, by which a backup of such a ledger is accepted. */
export const STATIC_GONE_17 =
  "CREATE TRIGGER static_gone AFTER DELETE ON drawer BEGIN DELETE FROM static_code WHERE row = old.row; END";

/** SQL that replaces version 16's table, which had a second number for each code and so made writes longer. */
export const STATIC_BY_ROW = `
DROP TRIGGER IF EXISTS static_gone;
ALTER TABLE static_code RENAME TO static_code_16;
${STATIC_SCHEMA}
INSERT INTO static_code SELECT row, code, scale FROM static_code_16 ORDER BY row;
DROP TABLE static_code_16;
`;
