/** The tables of outcome memory. Only Roampal's graphs and the reasons of outcomes contain users' words. */

/** Empty id of a marker row in `shown`, which has no drawer. From its turn on, the agent no longer sees drawers shown before. */
export const ANEW = "";

export const CONVERSATION_SCHEMA = `
-- One row for each conversation. "exchange": the drawer with the last question and answer. "scored": drawers that were scored in this turn,
-- as JSON. Undo does not change this table, which records what an agent has seen.
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

-- Drawers that an agent was shown, once for each conversation, with the turn. A row with an empty id means that the agent no longer sees
-- the drawers shown before that turn.
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

export const STANDING_SCHEMA = `
-- "past": the last outcomes as JSON, newest last. LedgerTables.deleteDrawer deletes the row with its drawer.
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
 * SQL that makes one JSON array of a standing, without rounding numbers. Its last element has the drawer's outcomes with their questions.
 * Without outcomes or questions the array has the form of older versions, so that older writes can still be undone.
 */
export const STANDING_BODY = `CASE WHEN EXISTS (SELECT 1 FROM scored WHERE scored.id = standing.id)
  THEN json_array(score, uses, successes, last_used_ms, json(past), json((
    SELECT json_group_array(json(CASE WHEN q.id IS NULL
      THEN json_array(s.at_ms, s.outcome, source, weight, conversation, exchange)
      ELSE json_array(s.at_ms, s.outcome, source, weight, conversation, exchange,
        json_array(context, collection, json(concepts))) END) ORDER BY s.nth)
      FROM scored s LEFT JOIN question q ON q.id = s.id AND q.nth = s.nth WHERE s.id = standing.id)))
  ELSE json_array(score, uses, successes, last_used_ms, json(past)) END`;

export const SCORED_SCHEMA = `
-- "nth": number of the outcome in the order of arrival. Rows are deleted with their standing, whose before-image has them.
CREATE TABLE IF NOT EXISTS scored (
  id TEXT NOT NULL,
  nth INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  source TEXT NOT NULL,
  weight REAL NOT NULL,
  conversation TEXT,
  exchange TEXT,
  PRIMARY KEY (id, nth)
) WITHOUT ROWID, STRICT;
`;

export const QUESTION_SCHEMA = `
-- One row for each outcome with a known question, deleted with the outcome. "collection": the memory's collection at that time. "concepts":
-- a JSON array of whole numbers (learning/question/question.ts).
CREATE TABLE IF NOT EXISTS question (
  id TEXT NOT NULL,
  nth INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  context TEXT NOT NULL,
  collection TEXT NOT NULL,
  concepts TEXT NOT NULL,
  PRIMARY KEY (id, nth)
) WITHOUT ROWID, STRICT;
CREATE INDEX IF NOT EXISTS question_context ON question (context, collection, at_ms, outcome);
CREATE TRIGGER IF NOT EXISTS scored_gone AFTER DELETE ON scored BEGIN
  DELETE FROM question WHERE id = old.id AND nth = old.nth;
END;

-- Questions by concept and time. Only triggers write this table, so it always agrees with the table question.
CREATE TABLE IF NOT EXISTS question_concept (
  concept INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  id TEXT NOT NULL,
  nth INTEGER NOT NULL,
  PRIMARY KEY (concept, at_ms, id, nth)
) WITHOUT ROWID, STRICT;
CREATE TRIGGER IF NOT EXISTS question_new AFTER INSERT ON question BEGIN
  INSERT OR IGNORE INTO question_concept SELECT value, new.at_ms, new.id, new.nth FROM json_each(new.concepts);
END;
CREATE TRIGGER IF NOT EXISTS question_gone AFTER DELETE ON question BEGIN
  DELETE FROM question_concept
    WHERE concept IN (SELECT value FROM json_each(old.concepts)) AND at_ms = old.at_ms AND id = old.id AND nth = old.nth;
END;
`;

export const CARRIED_SCHEMA = `
-- One row for each entry. "id": a JSON array of file, section and name, so that the rows of a section are adjacent. The name is missing if
-- the section has no names, the section is missing if the file is empty. "value": JSON, with users' words.
CREATE TABLE IF NOT EXISTS carried_graph (id TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
`;
