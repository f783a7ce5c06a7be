/** Ranks exchanges of transcripts as wholes, for questions about everything that was said (docs/lab/search-recipe.md). */
import type { LedgerReader, TalkSlice } from "../port/ledger.ts";
import type { LexicalIndex } from "../port/search.ts";
import { byScore, type Ranked } from "./fusion.ts";
import { WISH } from "./asks.ts";

/** Weights of three scores of an exchange: its first drawer's, the static cosine of the user's words, and its best other drawer's. */
const WEIGHTS = { opening: 0.45, said: 0.4, answer: 0.3 } as const;
/** Maximum share of its score that an exchange loses if the user's words are short. From `SAID_FULL` characters on it loses nothing. */
const SHORT_LOSS = 0.2;
const SAID_FULL = 150;
/** Amount added to the score of an exchange in which the user states a wish (wishes.ts), if the question asks for wishes. */
const WISH_BONUS = 0.3;
/** Amount by which an exchange's other slices rank below its first drawer, which has the user's words. Worse slices rank lower. */
const ANSWER_STEP = 1e-3;
/** Distance in rows below which two drawers of one source are near each other. */
const STRETCH = 20;
/** Maximum share of its score that a hit loses because a better hit of its source is near. `STRETCH` rows away it loses nothing. */
const STRETCH_LOSS = 0.05;
/** Number of candidates per wanted hit that `spread` reorders: more than one, because several candidates may be slices of one exchange. */
const SPREAD_PER_HIT = 4;
/** If the search did not find an exchange's first drawer, its score is estimated as the answer's score times this factor. */
const UNKNOWN_OPENING = 0.7;

type Exchange = { said: string; opening: number | undefined; answer: number };

/** Ranks exchanges as wholes and spreads them over the conversations. `isSpread`: false if no candidate is from a transcript. */
export async function rankEverything(
  { reader, lexical }: { reader: Pick<LedgerReader, "talkSlices">; lexical: Pick<LexicalIndex, "alike"> },
  ranked: readonly Ranked[],
  { subject, wishes, limit }: { subject: string; wishes: boolean; limit: number },
): Promise<{ ranked: Ranked[]; isSpread: boolean }> {
  const slices = new Map(reader.talkSlices(ranked.map(({ row }) => row)).map((slice) => [slice.row, slice]));
  if (slices.size === 0) return { ranked: [...ranked], isSpread: false };
  const exchanges = [...exchangesOf(ranked, slices)];
  const cosines = await lexical.alike(
    subject,
    exchanges.map(([, { said }]) => said),
  );
  const judged = new Map(
    exchanges.map(([row, { said, opening, answer }], at) => {
      const saidCosine = cosines[at] ?? 0;
      const sum =
        WEIGHTS.opening * (opening ?? UNKNOWN_OPENING * answer) + WEIGHTS.said * saidCosine + WEIGHTS.answer * answer;
      const length = Math.min(1, said.length / SAID_FULL);
      const score = sum * (1 - SHORT_LOSS * (1 - length)) + (wishes && WISH.test(said) ? WISH_BONUS : 0);
      return [row, { saidCosine, score }];
    }),
  );
  const weighed = ranked
    .map((one) => {
      const opening = slices.get(one.row)?.opening;
      const exchange = opening === undefined ? undefined : judged.get(opening);
      if (exchange === undefined) return one;
      const { saidCosine, score } = exchange;
      return { ...one, saidCosine, score: opening === one.row ? score : score - ANSWER_STEP * (2 - one.score) };
    })
    .sort(byScore);
  return { ranked: spread(weighed, slices, limit * SPREAD_PER_HIT), isSpread: true };
}

/** Returns the exchanges among the candidates, by the row of the exchange's first drawer. */
function exchangesOf(ranked: readonly Ranked[], slices: ReadonlyMap<number, TalkSlice>): Map<number, Exchange> {
  const exchanges = new Map<number, Exchange>();
  for (const { row, score } of ranked) {
    const slice = slices.get(row);
    if (slice === undefined) continue;
    const known = exchanges.get(slice.opening) ?? { said: slice.said, opening: undefined, answer: 0 };
    if (slice.opening === row) known.opening = score;
    else known.answer = Math.max(known.answer, score);
    exchanges.set(slice.opening, known);
  }
  return exchanges;
}

/** Reorders the first `count` drawers: repeatedly takes the best one, and lowers the scores of other exchanges near this drawer. */
function spread(ranked: readonly Ranked[], slices: ReadonlyMap<number, TalkSlice>, count: number): Ranked[] {
  const left = ranked.slice(0, count).map((one) => ({ one, factor: 1 }));
  const taken: Ranked[] = [];
  const scoreOf = ({ one, factor }: { one: Ranked; factor: number }): number =>
    one.score > 0 ? one.score * factor : one.score;
  while (left.length > 0) {
    const best = left.reduce((before, other) => (scoreOf(other) > scoreOf(before) ? other : before));
    left.splice(left.indexOf(best), 1);
    taken.push({ ...best.one, score: scoreOf(best) });
    const at = slices.get(best.one.row);
    for (const other of at === undefined ? [] : left) {
      const there = slices.get(other.one.row);
      if (there?.source !== at?.source || there?.opening === at?.opening) continue;
      const distance = Math.abs(other.one.row - best.one.row);
      if (distance < STRETCH) other.factor = Math.min(other.factor, 1 - STRETCH_LOSS * (1 - distance / STRETCH));
    }
  }
  const least = taken.at(-1)?.score ?? 0;
  return [...taken, ...ranked.slice(count).map((one) => ({ ...one, score: Math.min(one.score, least) }))];
}
