/**
 * Full-text index of word forms that `drawer_fts` lacks: pieces of words of several scripts, pairs of letters, other spellings, emoji
 * (index/lexical/cut.ts). A drawer of plain words has no row in it. The writer makes a row in the drawer's own transaction. schema.ts also
 * migrates older ledgers with this SQL; their drawers get rows when the broker is idle (write/form-backlog.ts).
 */
export const FORM_SCHEMA = `
CREATE VIRTUAL TABLE IF NOT EXISTS form_fts USING fts5(text, content='', contentless_delete=1, tokenize='ascii');
CREATE TRIGGER IF NOT EXISTS form_gone AFTER DELETE ON drawer BEGIN
  DELETE FROM form_fts WHERE rowid = old.row;
END;
`;
