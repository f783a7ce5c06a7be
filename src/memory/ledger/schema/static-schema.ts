/**
 * Tables of the drawers' static vectors, as int8 codes. A reader keeps the codes in memory and reads only the rows above its last row;
 * `static_renewed` lists older rows that it must read again. Drawers of an older ledger get codes when the broker is idle.
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

/** The trigger `static_gone` of schema versions 16 and 17. A backup with this trigger must be accepted. */
export const STATIC_GONE_17 =
  "CREATE TRIGGER static_gone AFTER DELETE ON drawer BEGIN DELETE FROM static_code WHERE row = old.row; END";

/** Migrates the table `static_code` of schema version 16. Its rows had one more column, which made writes slower. */
export const STATIC_BY_ROW = `
DROP TRIGGER IF EXISTS static_gone;
ALTER TABLE static_code RENAME TO static_code_16;
${STATIC_SCHEMA}
INSERT INTO static_code SELECT row, code, scale FROM static_code_16 ORDER BY row;
DROP TABLE static_code_16;
`;
