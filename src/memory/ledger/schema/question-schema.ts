/**
 * The ledger's tables of questions for which memories were shown. With an outcome they store the kind of talk, the collection, and numbers
 * for the question's concepts, no words. Imported by schema.ts; a ledger of an older version runs the same text as its migration.
 */
export const QUESTION_SCHEMA = `
-- One row an outcome whose question is known, and goes with it. "collection": where the memory was then; "concepts": a JSON array of
-- whole numbers (learning/question/question.ts).
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

-- The questions with a concept, by their time. Triggers alone write it, so that it is in step whoever writes those.
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
