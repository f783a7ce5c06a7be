/**
 * Headings above each drawer of a Markdown document: only the first drawer of a section contains its heading. After a change of any drawer,
 * maintenance computes the headings of its whole source again, so that forgotten headings disappear, too.
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
