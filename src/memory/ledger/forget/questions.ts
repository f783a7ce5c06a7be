/** Deletes stored questions. A question is stored as numbers, but somebody who guesses a word could confirm the guess. */
import { isColumns, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { selectRows } from "../select.ts";

/** Deletes questions by exchange and by concept. Returns the drawers that were scored for them, also those found only in before-images. */
export function forgetQuestions(
  database: LedgerDatabase,
  exchanges: readonly string[],
  concepts: readonly number[],
): string[] {
  const given = { exchanges: JSON.stringify(exchanges), concepts: JSON.stringify(concepts) };
  const sql = `SELECT id, nth FROM scored WHERE exchange IN (SELECT value FROM json_each(@exchanges))
    UNION SELECT id, nth FROM question_concept WHERE concept IN (SELECT value FROM json_each(@concepts))`;
  const shown = selectRows<{ id: string; nth: number }>(database, sql, given);
  const remove = database.prepare("DELETE FROM question WHERE id = ? AND nth = ?");
  for (const { id, nth } of shown) remove.run(id, nth);
  const [left, told] = [new Set(exchanges), new Set(concepts)];
  const images = database
    .prepare<[], { id: string; before: string }>(
      "SELECT id, before FROM change WHERE kind = 'standing' AND before IS NOT NULL",
    )
    .iterate();
  const held = new Set<string>();
  for (const { id, before } of images)
    if (
      !held.has(id) &&
      outcomesIn(before).some(([exchange, asked]) => holds(left, exchange) || asked.some((one) => told.has(one)))
    )
      held.add(id);
  return [...new Set([...shown.map(({ id }) => id), ...held])];
}

function holds(left: ReadonlySet<string>, exchange: string | null): boolean {
  return exchange !== null && left.has(exchange);
}

/** Returns the exchange of each outcome in a before-image (STANDING_BODY), and the concepts of its question. */
function outcomesIn(image: string): [exchange: string | null, concepts: readonly number[]][] {
  const scored = readColumn("change.before", image, isColumns)[5];
  if (!Array.isArray(scored)) return [];
  return (scored as [0, 0, 0, 0, 0, string | null, [string, string, number[]]?][]).map((one) => [
    one[5],
    one[6]?.[2] ?? [],
  ]);
}
