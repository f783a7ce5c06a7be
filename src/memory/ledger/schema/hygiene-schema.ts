/**
 * The ledger's tables of memory hygiene: before-images for undo, and forgotten texts that may still have traces in files. Imported by
 * schema.ts; a ledger of an older version runs the same text as its migration.
 */
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
 * Every table of the ledger, and what forgetting does to it. A test compares this list with the schema. If a new table contains text or ids
 * of drawers, forget.ts must handle the table.
 */
export const FORGET_REACHES: Readonly<Record<string, string>> = {
  drawer: "the rows are deleted; triggers delete their vectors and update the counts",
  drawer_fts: "its segments are merged into one without the deleted rows (LedgerEraser)",
  form_fts: "deleted with the drawer; its segments are merged into one without the deleted rows (LedgerEraser)",
  vector: "deleted with the drawer",
  vector_code: "deleted with the drawer",
  pending_embedding: "deleted with the drawer",
  static_code: "deleted with the drawer",
  static_renewed: "deleted with the drawer",
  place: "has only counts by wing and room",
  growth: "has only counts by day",
  closet: "closets of the drawers' sources, and closets that contain the text, are deleted with their vectors",
  closet_outbox: "has only ids",
  outbox: "has only ids",
  source: "deleted with its last drawer, and if its name contains a matched text",
  source_part: "all partly sent documents are deleted; their feeders send them again",
  source_fts: "the source is indexed again, and its segments are merged into one (LedgerEraser)",
  heading: "deleted with the drawer; headings of the source's other drawers are made again with source_fts",
  source_dirty: "has only names of sources to index again",
  journal: "arguments and results that contain the text are replaced; keys stay, so that no write is done twice",
  imported_journal: "as the journal; the other memory's name is replaced, too",
  journal_claim: "has only times",
  change: "before-images are deleted",
  erasure: "has only ids, until everything is erased",
  kg_entity: "deleted if its name contains a matched text",
  kg_triple: "deleted if the fact or one of its entities contains a matched text",
  link: "deleted if its record contains a matched text",
  graph_outbox: "keeps a deleted link's record until the file no longer has the link",
  standing: "deleted with the drawer",
  scored: "deleted with the drawer; rows of other drawers name an exchange only by its id",
  question:
    "has only numbers; deleted with its drawer, with the exchange that asks it, and if it has a concept of a matched text",
  question_concept: "triggers delete it with its question",
  carried_graph:
    "deleted if the entry names the drawer by any id, contains a matched text, has one of its concepts, or has in its name a word that no other drawer has",
  conversation: "has only ids",
  shown: "has only ids",
  meta: "has only our settings and marks",
};
