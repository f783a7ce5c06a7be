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

/**
 * Every table of the ledger, and what forgetting does to it. A test compares this list with the schema. If a new table contains text or ids
 * of drawers, forget.ts must handle the table.
 */
export const FORGET_REACHES: Readonly<Record<string, string>> = {
  drawer: "the rows are deleted; triggers take vectors and places along",
  drawer_fts: "its segments are merged into one without them (LedgerEraser)",
  form_fts: "deleted with the drawer; its segments are merged into one without them (LedgerEraser)",
  vector: "deleted with the drawer",
  vector_code: "deleted with the drawer",
  pending_embedding: "deleted with the drawer",
  static_code: "deleted with the drawer",
  static_renewed: "deleted with the drawer",
  place: "counts by wing and room",
  growth: "counts by day",
  closet: "those of the drawers' sources, and those that hold the text, are deleted with their vectors",
  closet_outbox: "ids alone",
  outbox: "ids alone",
  source: "dropped with its last drawer, and where its name contains a matched text",
  source_part: "all partly sent documents are dropped; their feeders send them again",
  source_fts: "the source is indexed again, its segments are merged into one (LedgerEraser)",
  heading: "deleted with the drawer; those of the other drawers of its source are made again with source_fts",
  source_dirty: "names of sources that are to be indexed again",
  journal: "arguments and results that hold the text are replaced; keys stay, so that nothing is done twice",
  imported_journal: "as the journal, the other memory's name, too",
  journal_claim: "times alone",
  change: "before-images are deleted",
  erasure: "ids alone, until everything is erased",
  kg_entity: "deleted where a matched text stands in the name",
  kg_triple: "deleted where a matched text stands in it, or in one of its entities",
  link: "deleted where a matched text stands in the record",
  graph_outbox: "a deleted link's record, until the file has lost it",
  standing: "deleted with the drawer",
  scored: "deleted with the drawer; rows of other drawers name an exchange by its id alone",
  question:
    "numbers alone; deleted with the drawer, with the exchange that asks it, and where it has a concept of a matched text",
  question_concept: "triggers delete it with its question",
  carried_graph:
    "deleted where an entry names the drawer, by any of its ids, or holds a matched text, or has one of its concepts, or a word that no other drawer holds, in its name",
  conversation: "ids alone",
  shown: "ids alone",
  meta: "settings and marks of ours",
};
