/** The table for journal rows of other memories, which `palace import` adds. */
export const IMPORTED_SCHEMA = `
-- One row for each write of another memory. These rows are not in "journal", whose row numbers rise with time. A write has the same key and
-- time in every memory. "source": the other memory's name; "seq": the row number there; "drawers": ids of the memories with outcomes that
-- the write changed.
CREATE TABLE IF NOT EXISTS imported_journal (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  key TEXT NOT NULL,
  source TEXT NOT NULL,
  seq INTEGER NOT NULL,
  claimed_ms INTEGER,
  fingerprint TEXT NOT NULL,
  method TEXT NOT NULL,
  agent TEXT NOT NULL,
  door TEXT NOT NULL,
  uid INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  arguments TEXT NOT NULL,
  result TEXT NOT NULL,
  drawers TEXT NOT NULL,
  UNIQUE (key, at_ms)
) STRICT;
CREATE INDEX IF NOT EXISTS imported_journal_time ON imported_journal (at_ms);
`;

/** SQL for the id of an imported row: its time and its key. */
export const IMPORTED_ID = "at_ms || ' ' || key";
/** SQL that makes one JSON array of an imported row, without the time and key that are in its id. */
export const IMPORTED_BODY =
  "json_array(source, seq, claimed_ms, fingerprint, method, agent, door, uid, pid, request_id, arguments, result, drawers)";
/** SQL like IMPORTED_BODY, for a row of this memory's own journal. The other memory's name is null. */
export const JOURNAL_BODY = `json_array(NULL, seq, (SELECT claimed_ms FROM journal_claim WHERE journal_claim.journal = seq), fingerprint,
  method, agent, door, uid, pid, request_id, arguments, result,
  (SELECT json_group_array(id) FROM change WHERE change.journal = seq AND kind = 'drawer'
     AND id NOT GLOB 'drawer_*' AND id NOT GLOB 'diary_*'))`;
