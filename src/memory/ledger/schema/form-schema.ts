/**
 * Full-text index of word forms that `drawer_fts` lacks: pieces of words of several scripts, pairs of letters, other spellings, emoji
 * (index/lexical/cut.ts). A drawer without such forms has no row. The drawers of an older ledger get rows when the broker is idle.
 */
export const FORM_SCHEMA = `
CREATE VIRTUAL TABLE IF NOT EXISTS form_fts USING fts5(text, content='', contentless_delete=1, tokenize='ascii');
CREATE TRIGGER IF NOT EXISTS form_gone AFTER DELETE ON drawer BEGIN
  DELETE FROM form_fts WHERE rowid = old.row;
END;
`;
