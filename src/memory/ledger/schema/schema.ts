/**
 * The ledger's tables. Triggers maintain counts, full text, the outbox and the list of texts to embed, so that no write can forget one.
 * Only the full text of new drawers has no trigger: a statement with triggers opens a savepoint, at which FTS5 writes a segment, and that
 * made bulk ingest half as fast.
 */

import { NOW_MS } from "../outbox-kinds.ts";
import { CLOSET_SCHEMA } from "./closet-schema.ts";
import { FORM_SCHEMA } from "./form-schema.ts";
import { GRAPH_SCHEMA } from "./graph-schema.ts";
import { GROWTH_SCHEMA } from "./growth-schema.ts";
import { HEADING_SCHEMA } from "./heading-schema.ts";
import { HYGIENE_SCHEMA } from "./hygiene-schema.ts";
import { IMPORTED_SCHEMA } from "./imported-schema.ts";
import {
  CARRIED_SCHEMA,
  CONVERSATION_SCHEMA,
  QUESTION_SCHEMA,
  SCORED_SCHEMA,
  STANDING_SCHEMA,
} from "./outcome-schema.ts";
import { PARENT_SCHEMA } from "./slice-index.ts";
import { SAID_SCHEMA } from "./said-index.ts";
import { STATIC_BY_ROW, STATIC_SCHEMA } from "./static-schema.ts";

/** Stored as SQLite's `user_version`. A file with a higher version is refused. */
export const SCHEMA_VERSION = 20;

/** "palc": SQLite's application_id, which distinguishes a ledger from other SQLite files. */
export const APPLICATION_ID = 0x70616c63;

/** A new drawer cancels a waiting removal of the same id. It enters the outbox when it gets its vector. */
const DRAWER_INSERT = `
CREATE TRIGGER drawer_insert AFTER INSERT ON drawer BEGIN
  INSERT INTO place VALUES (new.wing, new.room, 1)
    ON CONFLICT (wing, room) DO UPDATE SET drawers = drawers + 1;
  INSERT INTO pending_embedding VALUES (new.row);
  DELETE FROM outbox WHERE id = new.id;
  INSERT OR IGNORE INTO source_dirty SELECT new.source_file WHERE new.source_file <> '';
END;
`;

/** Table of documents that arrive in parts. */
const PART_SCHEMA = `
CREATE TABLE IF NOT EXISTS source_part (
  source_file TEXT NOT NULL,
  start INTEGER NOT NULL,
  length INTEGER NOT NULL,
  sending TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (source_file, start)
) STRICT;
`;

/** Times of writing that clients claim for late writes (journal.at_ms has the arrival). No decision depends on them. */
const CLAIM_SCHEMA = `
CREATE TABLE IF NOT EXISTS journal_claim (journal INTEGER PRIMARY KEY, claimed_ms INTEGER NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS journal_gone AFTER DELETE ON journal BEGIN
  DELETE FROM journal_claim WHERE journal = old.seq;
END;
`;

/** Statements that migrate a ledger from version N (the key) to N + 1, in the transaction that raises `user_version`. */
export const MIGRATIONS: Readonly<Record<number, string>> = {
  // In version 1 a trigger indexed the words of a new drawer; now the writer does. If both did, the index would become corrupt.
  1: `
DROP TRIGGER drawer_insert;
DROP INDEX IF EXISTS drawer_room;
DROP INDEX IF EXISTS journal_at;
${DRAWER_INSERT}`,
  2: GRAPH_SCHEMA,
  3: CLOSET_SCHEMA,
  4: HYGIENE_SCHEMA,
  5: SAID_SCHEMA,
  6: PART_SCHEMA,
  7: CLAIM_SCHEMA,
  8: PARENT_SCHEMA,
  9: STANDING_SCHEMA,
  10: CONVERSATION_SCHEMA,
  11: SCORED_SCHEMA,
  12: QUESTION_SCHEMA,
  13: CARRIED_SCHEMA,
  14: IMPORTED_SCHEMA,
  15: STATIC_SCHEMA,
  16: FORM_SCHEMA,
  17: STATIC_BY_ROW,
  18: SAID_SCHEMA,
  19: HEADING_SCHEMA + GROWTH_SCHEMA,
};

export const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;

-- One row for each write that changed something: who, when, what, and the answer that a repeated key gets.
CREATE TABLE journal (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  fingerprint TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  method TEXT NOT NULL,
  agent TEXT NOT NULL,
  door TEXT NOT NULL,
  uid INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  arguments TEXT NOT NULL,
  result TEXT NOT NULL
) STRICT;

-- text_version rises with every change of the text. A vector that was made from an older text is dropped.
CREATE TABLE drawer (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  wing TEXT NOT NULL,
  room TEXT NOT NULL,
  source_file TEXT NOT NULL,
  text TEXT NOT NULL,
  date_words TEXT NOT NULL,
  metadata TEXT NOT NULL,
  text_version INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX drawer_place ON drawer (wing, room);
CREATE INDEX drawer_source ON drawer (source_file) WHERE source_file <> '';

CREATE VIRTUAL TABLE drawer_fts USING fts5(
  text, date_words, content='drawer', content_rowid='row', tokenize='porter unicode61'
);

-- Segments are merged while no client calls (LedgerWriter.maintain). Merging them with each write would halve the rate of writes.
INSERT INTO drawer_fts (drawer_fts, rank) VALUES ('automerge', 16);

CREATE TABLE place (wing TEXT NOT NULL, room TEXT NOT NULL, drawers INTEGER NOT NULL, PRIMARY KEY (wing, room))
  WITHOUT ROWID, STRICT;

-- Full vectors for exact reranking. Their int8 codes have their own table, so that opening a palace reads a fifth of the bytes.
CREATE TABLE vector (row INTEGER PRIMARY KEY, vector BLOB NOT NULL) STRICT;
CREATE TABLE vector_code (row INTEGER PRIMARY KEY, code BLOB NOT NULL, scale REAL NOT NULL) STRICT;
CREATE TABLE pending_embedding (row INTEGER PRIMARY KEY) STRICT;

-- Drawers whose newest state the public palace does not have yet. A newer change gets a new, higher seq.
CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at_ms INTEGER NOT NULL) STRICT;

CREATE TABLE source (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  source_file TEXT NOT NULL UNIQUE,
  wing TEXT NOT NULL,
  mtime REAL NOT NULL,
  sha256 TEXT NOT NULL,
  drawers INTEGER NOT NULL
) STRICT;
CREATE INDEX source_wing ON source (wing);
CREATE VIRTUAL TABLE source_fts USING fts5(text, content='', contentless_delete=1, tokenize='porter unicode61');
CREATE TABLE source_dirty (source_file TEXT PRIMARY KEY) WITHOUT ROWID, STRICT;

${DRAWER_INSERT}
CREATE TRIGGER drawer_delete AFTER DELETE ON drawer BEGIN
  INSERT INTO drawer_fts (drawer_fts, rowid, text, date_words) VALUES ('delete', old.row, old.text, old.date_words);
  UPDATE place SET drawers = drawers - 1 WHERE wing = old.wing AND room = old.room;
  DELETE FROM place WHERE wing = old.wing AND room = old.room AND drawers = 0;
  DELETE FROM vector WHERE row = old.row;
  DELETE FROM vector_code WHERE row = old.row;
  DELETE FROM pending_embedding WHERE row = old.row;
  INSERT OR REPLACE INTO outbox (id, at_ms) VALUES (old.id, ${NOW_MS});
  INSERT OR IGNORE INTO source_dirty SELECT old.source_file WHERE old.source_file <> '';
END;

CREATE TRIGGER drawer_text AFTER UPDATE OF text, date_words ON drawer
  WHEN old.text <> new.text OR old.date_words <> new.date_words BEGIN
  INSERT INTO drawer_fts (drawer_fts, rowid, text, date_words) VALUES ('delete', old.row, old.text, old.date_words);
  INSERT INTO drawer_fts (rowid, text, date_words) VALUES (new.row, new.text, new.date_words);
END;

CREATE TRIGGER drawer_reembed AFTER UPDATE OF text ON drawer WHEN old.text <> new.text BEGIN
  DELETE FROM vector WHERE row = new.row;
  DELETE FROM vector_code WHERE row = new.row;
  DELETE FROM outbox WHERE id = new.id;
  INSERT OR IGNORE INTO pending_embedding VALUES (new.row);
  INSERT OR IGNORE INTO source_dirty SELECT new.source_file WHERE new.source_file <> '';
END;

CREATE TRIGGER drawer_move AFTER UPDATE OF wing, room ON drawer
  WHEN old.wing <> new.wing OR old.room <> new.room BEGIN
  UPDATE place SET drawers = drawers - 1 WHERE wing = old.wing AND room = old.room;
  DELETE FROM place WHERE wing = old.wing AND room = old.room AND drawers = 0;
  INSERT INTO place VALUES (new.wing, new.room, 1)
    ON CONFLICT (wing, room) DO UPDATE SET drawers = drawers + 1;
END;

-- Every palace row needs a vector. So a drawer enters the outbox when it gets its vector, and again with each change.
CREATE TRIGGER vector_insert AFTER INSERT ON vector BEGIN
  DELETE FROM pending_embedding WHERE row = new.row;
  INSERT OR REPLACE INTO outbox (id, at_ms) SELECT id, ${NOW_MS} FROM drawer WHERE row = new.row;
END;

CREATE TRIGGER drawer_change AFTER UPDATE ON drawer WHEN EXISTS (SELECT 1 FROM vector WHERE row = new.row) BEGIN
  INSERT OR REPLACE INTO outbox (id, at_ms) VALUES (new.id, ${NOW_MS});
END;
${GRAPH_SCHEMA}${CLOSET_SCHEMA}${HYGIENE_SCHEMA}${SAID_SCHEMA}${PART_SCHEMA}${CLAIM_SCHEMA}${PARENT_SCHEMA}${STANDING_SCHEMA}${CONVERSATION_SCHEMA}${SCORED_SCHEMA}${QUESTION_SCHEMA}${CARRIED_SCHEMA}${IMPORTED_SCHEMA}${STATIC_SCHEMA}${FORM_SCHEMA}${HEADING_SCHEMA}${GROWTH_SCHEMA}`;
