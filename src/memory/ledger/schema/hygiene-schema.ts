/** The tables for forgetting and undo: before-images, and forgotten texts that may still have traces in files. */
export const HYGIENE_SCHEMA = `
-- One row for each item that a journaled write changed. "before": the item before the write, null if it was missing. "after": a digest of
-- the item after the write, null if it was deleted. Rows are in the journal's order, so a new row seldom needs a new page.
CREATE TABLE IF NOT EXISTS change (
  journal INTEGER NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  before TEXT,
  after TEXT,
  PRIMARY KEY (journal, kind, id)
) WITHOUT ROWID, STRICT;

-- Forgotten items that are not yet erased from every file. The table has only ids, because it must not contain a forgotten text.
CREATE TABLE IF NOT EXISTS erasure (seq INTEGER PRIMARY KEY AUTOINCREMENT, ids TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT;

-- The writes before this migration cannot be undone, because they have no before-images.
INSERT OR REPLACE INTO meta (key, value) SELECT 'undo_from_seq', coalesce(max(seq), 0) + 1 FROM journal;
`;

/**
 * Index of deleted drawers. Each opening for writing makes it if it is missing. That needs no new schema version, because an older program
 * maintains the index, too. `after` is always null here, but with this column SQLite need not read the table.
 */
export const GONE_INDEX = `
CREATE INDEX IF NOT EXISTS change_gone ON change (id, after) WHERE kind = 'drawer' AND after IS NULL;
`;
