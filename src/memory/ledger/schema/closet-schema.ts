/** The tables of closets. Triggers list the closets that the public palace lacks, and delete a source's closets with its last drawer. */
import { NOW_MS } from "../outbox-kinds.ts";

export const CLOSET_SCHEMA = `
-- The row has the vector too, because closets are few. It is null until the embedder has made it.
CREATE TABLE IF NOT EXISTS closet (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  wing TEXT NOT NULL,
  room TEXT NOT NULL,
  source_file TEXT NOT NULL,
  text TEXT NOT NULL,
  metadata TEXT NOT NULL,
  text_version INTEGER NOT NULL DEFAULT 1,
  vector BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS closet_source ON closet (source_file) WHERE source_file <> '';
CREATE INDEX IF NOT EXISTS closet_pending ON closet (row) WHERE vector IS NULL;

-- Closets whose newest state the public palace does not have yet. The table outbox has the same for drawers.
CREATE TABLE IF NOT EXISTS closet_outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  at_ms INTEGER NOT NULL) STRICT;

-- A new closet cancels a waiting removal of the same id. Its vector will list the id again.
CREATE TRIGGER IF NOT EXISTS closet_insert AFTER INSERT ON closet BEGIN
  DELETE FROM closet_outbox WHERE id = new.id;
END;

CREATE TRIGGER IF NOT EXISTS closet_update AFTER UPDATE ON closet BEGIN
  DELETE FROM closet_outbox WHERE id = new.id;
  INSERT INTO closet_outbox (id, at_ms) SELECT new.id, ${NOW_MS} WHERE new.vector IS NOT NULL;
END;

CREATE TRIGGER IF NOT EXISTS closet_delete AFTER DELETE ON closet BEGIN
  DELETE FROM closet_outbox WHERE id = old.id;
  INSERT INTO closet_outbox (id, at_ms) VALUES (old.id, ${NOW_MS});
END;

CREATE TRIGGER IF NOT EXISTS closet_orphan AFTER DELETE ON drawer
  WHEN old.source_file <> '' AND NOT EXISTS (
    SELECT 1 FROM drawer d WHERE d.source_file = old.source_file AND d.source_file <> ''
  ) BEGIN
  DELETE FROM closet WHERE source_file = old.source_file AND source_file <> '';
END;
`;
