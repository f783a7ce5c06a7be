/**
 * The ledger's tables of conversations between a user and an agent, for outcome memory. They have ids and flags, no words. Imported by
 * schema.ts; a ledger of an older version runs the same text as its migration.
 */

/** Value in the id column of `shown` that resets what was shown before its turn. */
export const ANEW = "";

export const CONVERSATION_SCHEMA = `
-- One row a conversation. "exchange": the drawer of the last question and answer; "scored": drawers
-- that have had their score in this turn, as JSON. Nothing here is taken back by undo: it tells what
-- an agent has seen.
CREATE TABLE IF NOT EXISTS conversation (
  id TEXT PRIMARY KEY,
  agent TEXT NOT NULL,
  turn INTEGER NOT NULL,
  is_completed INTEGER NOT NULL,
  is_asked INTEGER NOT NULL,
  is_scored INTEGER NOT NULL,
  exchange TEXT,
  scored TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- What an agent was shown, each drawer once a conversation, with the turn. A row without a drawer
-- stands for all of it: what was shown before that turn is no longer before the agent's eyes.
CREATE TABLE IF NOT EXISTS shown (
  conversation TEXT NOT NULL,
  id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY (conversation, id)
) WITHOUT ROWID, STRICT;
CREATE INDEX IF NOT EXISTS shown_id ON shown (id);
CREATE TRIGGER IF NOT EXISTS conversation_gone AFTER DELETE ON conversation BEGIN
  DELETE FROM shown WHERE conversation = old.id;
END;
`;
