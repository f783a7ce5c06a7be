/**
 * The ledger's table of outcomes, one row for each drawer that was ever judged. Imported by schema.ts; a ledger of an
 * older version runs the same text as its migration.
 */
export const STANDING_SCHEMA = `
-- "past": the last outcomes as JSON, newest last. The row goes with its drawer (LedgerTables.deleteDrawer).
CREATE TABLE IF NOT EXISTS standing (
  id TEXT PRIMARY KEY,
  score REAL NOT NULL,
  uses INTEGER NOT NULL,
  successes REAL NOT NULL,
  last_used_ms INTEGER,
  past TEXT NOT NULL
) WITHOUT ROWID, STRICT;
`;

/**
 * SQL that turns a row into one JSON array without rounding numbers. Its last element has the drawer's single outcomes, each with its
 * question. A row without outcomes, and an outcome without a question, have the form of older versions, so that older writes can still be
 * undone.
 */
export const STANDING_BODY = `CASE WHEN EXISTS (SELECT 1 FROM scored WHERE scored.id = standing.id)
  THEN json_array(score, uses, successes, last_used_ms, json(past), json((
    SELECT json_group_array(json(CASE WHEN q.id IS NULL
      THEN json_array(s.at_ms, s.outcome, source, weight, conversation, exchange)
      ELSE json_array(s.at_ms, s.outcome, source, weight, conversation, exchange,
        json_array(context, collection, json(concepts))) END) ORDER BY s.nth)
      FROM scored s LEFT JOIN question q ON q.id = s.id AND q.nth = s.nth WHERE s.id = standing.id)))
  ELSE json_array(score, uses, successes, last_used_ms, json(past)) END`;
