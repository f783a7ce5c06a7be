/**
 * Forgets what was asked: memories that stay were shown for it. The numbers that stand for a question's words tell nobody a word, but
 * whoever guesses it may confirm it. Used by forget.ts.
 */
import type { LedgerDatabase } from "../open.ts";

/**
 * Deletes the questions that those exchanges ask, and those with one of the concepts. Returns the drawers that were shown for them, now or
 * in a before-image: an image would let undo bring the question back.
 */
export function forgetQuestions(
  database: LedgerDatabase,
  exchanges: readonly string[],
  concepts: readonly number[],
): string[] {
  const given = { exchanges: JSON.stringify(exchanges), concepts: JSON.stringify(concepts) };
  const shown = database
    .prepare<typeof given, { id: string; nth: number }>(
      `SELECT id, nth FROM scored WHERE exchange IN (SELECT value FROM json_each(@exchanges))
         UNION SELECT id, nth FROM question_concept WHERE concept IN (SELECT value FROM json_each(@concepts))`,
    )
    .all(given);
  const remove = database.prepare("DELETE FROM question WHERE id = ? AND nth = ?");
  for (const { id, nth } of shown) remove.run(id, nth);
  const images = database
    .prepare<{ pieces: string }, string>(
      `SELECT DISTINCT id FROM change WHERE kind = 'standing'
         AND EXISTS (SELECT 1 FROM json_each(@pieces) WHERE instr(before, value) > 0)`,
    )
    .pluck()
    .all({ pieces: JSON.stringify([...exchanges.map((id) => JSON.stringify(id)), ...concepts.map(String)]) });
  return [...new Set([...shown.map(({ id }) => id), ...images])];
}
