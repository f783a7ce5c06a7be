/**
 * Full-text index of words that `drawer_fts` lacks: pieces of words of several scripts, pairs of letters, other spellings, emoji
 * (index/lexical/cut.ts). A drawer of plain words has no row here. The writer makes the rows in the drawer's own transaction. A ledger of
 * an older version runs the same text as its migration, and its drawers follow in quiet moments (write/form-backlog.ts).
 */
export const FORM_SCHEMA = `
CREATE VIRTUAL TABLE IF NOT EXISTS form_fts USING fts5(text, content='', contentless_delete=1, tokenize='ascii');
CREATE TRIGGER IF NOT EXISTS form_gone AFTER DELETE ON drawer BEGIN
  DELETE FROM form_fts WHERE rowid = old.row;
END;
`;
