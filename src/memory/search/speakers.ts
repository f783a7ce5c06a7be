/** Gives the user's words more weight than the assistant's, which often repeat them (docs/lab/search-recipe.md, the answer). */
import type { LedgerReader } from "../port/ledger.ts";
import { byScore, type Ranked } from "./fusion.ts";

/** Factor on the score of a drawer in which only the assistant speaks. */
const ASSISTANT_FACTOR = 0.71;
/** Minimum number of hits whose speakers are looked up. Further hits cannot reach the list of shown hits. */
const WEIGHED_MIN = 50;
const WEIGHED_PER_HIT = 3;

/** Returns the hits sorted by their new scores. Hits whose speakers were not looked up stay behind the others. */
export function weighSpeakers(
  reader: Pick<LedgerReader, "assistantRows">,
  ranked: readonly Ranked[],
  limit: number,
): Ranked[] {
  const count = Math.max(WEIGHED_MIN, WEIGHED_PER_HIT * limit);
  const first = ranked.slice(0, count);
  const assistants = reader.assistantRows(first.map(({ row }) => row));
  if (assistants.size === 0) return [...ranked];
  const weighed = first
    .map((one) =>
      assistants.has(one.row) ? { ...one, score: one.score * ASSISTANT_FACTOR, speakerFactor: ASSISTANT_FACTOR } : one,
    )
    .sort(byScore);
  const least = weighed.at(-1)?.score ?? 0;
  return [...weighed, ...ranked.slice(count).map((one) => (one.score > least ? { ...one, score: least } : one))];
}
