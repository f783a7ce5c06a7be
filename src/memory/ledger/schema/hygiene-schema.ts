/**
 * The ledger's tables of memory hygiene: before-images for undo, and forgotten texts that may still have traces in files. Imported by
 * schema.ts; a ledger of an older version runs the same text as its migration.
 */
export const HYGIENE_SCHEMA = `
-- One row a thing that a journalled write changed. "before": what it was, null where it was not there; "after": a digest of what
-- the write left, null where it is gone. In the order of the journal, so that writing one costs no page of its own.
CREATE TABLE IF NOT EXISTS change (
  journal INTEGER NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  before TEXT,
  after TEXT,
  PRIMARY KEY (journal, kind, id)
) WITHOUT ROWID, STRICT;

-- Forgotten, and not yet erased from every file. Ids alone: what was forgotten stands nowhere.
CREATE TABLE IF NOT EXISTS erasure (seq INTEGER PRIMARY KEY AUTOINCREMENT, ids TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT;

-- Of older writes nothing was kept.
INSERT OR REPLACE INTO meta (key, value) SELECT 'undo_from_seq', coalesce(max(seq), 0) + 1 FROM journal;
`;
