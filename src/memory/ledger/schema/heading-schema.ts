/**
 * Headings above the drawers of Markdown documents, because a later part of a section does not repeat its heading. After a change of any
 * drawer, maintenance makes all rows of its source again, so a forgotten heading disappears from the other drawers, too.
 */
export const HEADING_SCHEMA = `
CREATE TABLE IF NOT EXISTS heading (row INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS heading_gone AFTER DELETE ON drawer BEGIN
  DELETE FROM heading WHERE row = old.row;
END;
CREATE TRIGGER IF NOT EXISTS source_moved AFTER UPDATE OF source_file ON drawer WHEN old.source_file <> new.source_file BEGIN
  INSERT OR IGNORE INTO source_dirty SELECT old.source_file WHERE old.source_file <> '';
  INSERT OR IGNORE INTO source_dirty SELECT new.source_file WHERE new.source_file <> '';
END;
INSERT OR IGNORE INTO source_dirty SELECT source_file FROM source
  WHERE source_file LIKE '%md' OR source_file LIKE '%.mdx' OR source_file LIKE '%.markdown' OR source_file LIKE '%.mkd';
`;
