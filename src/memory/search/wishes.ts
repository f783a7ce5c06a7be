/** Moves the user's lasting wishes ("always …") up in answers to questions for advice. Such questions share few words with a wish. */
import type { DrawerFilter } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import { type LexicalIndex, NO_PARTS } from "../port/search.ts";
import { WISH } from "./asks.ts";
import { byScore, type Candidate, fuse, type Ranked, type RankMode } from "./fusion.ts";

/** Words that are typical of wishes. A search for these words finds wishes that share no word with the question. */
const WORDS = "always never prefer whenever";
const FOUND_MAX = 60;
/** Number of best hits in which conversations are looked for. Only wishes in the wings of these conversations move up. */
const TALK_WITHIN = 10;
/** Matches a rule for the assistant. Other wishes are preferences. */
const RULE = /\b(?:always|never|from now on|whenever|(?:every|each) time|make sure)\b/i;
/** Minimum cosine between the static vectors of a wish and of the question. */
const COSINE_MIN = 0.02;
/** Number of best hits that stay above the wishes. */
const BEHIND = 3;
/** For each group of this many shown hits, one rule and one preference may move up. */
const HITS_PER_WISH = 5;
const STEP = 1e-6;

type Parts = { reader: Pick<LedgerReader, "talkSlices">; lexical: LexicalIndex };
type Wish = { row: number; isRule: boolean; cosine: number };

/** Returns rows with a wish of the user. Empty if the best hits are not from conversations. */
export async function wishRows(
  { reader, lexical }: Parts,
  ranked: readonly Ranked[],
  filter: DrawerFilter,
): Promise<number[]> {
  const wings = new Set(reader.talkSlices(ranked.slice(0, TALK_WITHIN).map(({ row }) => row)).map(({ wing }) => wing));
  if (wings.size === 0) return [];
  const found = await lexical.retrieve(WORDS, filter, FOUND_MAX, true);
  const rows = [...new Set([...ranked, ...found].map(({ row }) => row))];
  return reader
    .talkSlices(rows)
    .filter(({ row, wing, opening, said }) => row === opening && wings.has(wing) && WISH.test(said))
    .map(({ row }) => row);
}

/** Moves the wishes nearest to the question up, directly after the `BEHIND` best hits. */
export async function liftWishes(
  { reader, lexical }: Parts,
  ranked: readonly Ranked[],
  query: string,
  rows: readonly number[],
  limit: number,
): Promise<Ranked[]> {
  const sentences = reader
    .talkSlices(rows)
    .flatMap(({ row, said }) => (said.match(/[^.!?\n]+[.!?]*/g) ?? []).map((text) => ({ row, text })))
    .filter(({ text }) => WISH.test(text));
  const cosines = await lexical.alike(
    query,
    sentences.map(({ text }) => text),
  );
  const wishes = sentences
    .map(({ row, text }, at): Wish => ({ row, isRule: RULE.test(text), cosine: cosines[at] ?? 0 }))
    .filter(({ cosine }) => cosine >= COSINE_MIN)
    .sort((a, b) => b.cosine - a.cosine);
  const count = Math.ceil(limit / HITS_PER_WISH);
  const lifted = [true, false].flatMap((isRule) =>
    [...new Set(wishes.filter((wish) => wish.isRule === isRule).map(({ row }) => row))].slice(0, count),
  );
  const floor = (ranked[Math.min(BEHIND, ranked.length) - 1]?.score ?? 0) - STEP;
  return ranked
    .map((one) => {
      const at = lifted.indexOf(one.row);
      return at === -1 || one.score >= floor
        ? one
        : { ...one, score: floor - at * STEP, wishScore: floor - at * STEP - one.score };
    })
    .sort(byScore);
}

/** Adds the drawers of `rows` that the search did not find, with scores that are comparable to those of `candidates`. */
export async function withRows(
  { lexical }: Pick<Parts, "lexical">,
  ranked: readonly Ranked[],
  { candidates, query, mode }: { candidates: readonly Candidate[]; query: string; mode: RankMode },
  rows: readonly number[],
): Promise<Ranked[]> {
  const known = new Set([...ranked, ...candidates].map(({ row }) => row));
  const missing = rows.filter((row) => !known.has(row));
  if (missing.length === 0) return [...ranked];
  const parts = await lexical.score(query, missing);
  const more = missing.map((row, at) => ({ row, words: parts[at] ?? NO_PARTS, cosine: Number.NaN }));
  const added = fuse([...candidates, ...more], mode).filter(({ row }) => !known.has(row));
  return [...ranked, ...added].sort(byScore);
}
