/**
 * Worker thread that answers the word half of a search from its own read connection to the ledger. Started by
 * lexical-index.ts. FTS5 picks the candidates; their full score is computed here, from the words of the query alone.
 */
import { workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import type { PlaceFilter, Scored } from "../port.ts";
import { serveThread } from "../thread.ts";
import { inverseFrequency, scoreTerm } from "./bm25.ts";
import { documentLength, FtsTable } from "./fts-table.ts";
import { pickWords } from "./pick.ts";
import { matchAny, matchPhrase, type ParsedQuery, parseQuery } from "./query.ts";
import { type Counts, termCounter } from "./tokens.ts";

export type LexicalThreadData = { ledgerFile: string };
export type LexicalMethods = {
  candidates(query: string, filter: PlaceFilter, limit: number): Scored[];
  score(query: string, rows: readonly number[]): number[];
};

/** Weights of pairs and of the whole source beside the words of the drawer (bench README, recipe 4). */
const PAIR_WEIGHT = 0.3;
const SOURCE_WEIGHT = 0.3;

type DrawerText = { row: number; text: string; dateWords: string | null; source: number | null; sizes: Buffer };

await serveThread<LexicalMethods>(() => {
  const { ledgerFile } = workerData as LexicalThreadData;
  const ledger = new Database(ledgerFile, { readonly: true, fileMustExist: true });
  const drawers = new FtsTable(ledger, "drawer_fts");
  const sources = new FtsTable(ledger, "source_fts");
  const rank = prepareRanking(ledger);
  const readTexts = ledger.prepare(
    `SELECT drawer.row, drawer.text, drawer.date_words AS dateWords, source.row AS source, sz AS sizes
     FROM drawer JOIN drawer_fts_docsize ON drawer_fts_docsize.id = drawer.row
     LEFT JOIN source ON source.source_file = drawer.source_file
     WHERE drawer.row IN (SELECT value FROM json_each(?))`,
  );
  // The + keeps SQLite from asking FTS5 once a row, which would count every word anew each time.
  const rankSources = ledger
    .prepare(
      `SELECT rowid, -bm25(source_fts) FROM source_fts
       WHERE source_fts MATCH ? AND +rowid IN (SELECT value FROM json_each(?))`,
    )
    .raw();

  function candidates(query: string, filter: PlaceFilter, limit: number): Scored[] {
    const { words, terms } = parseQuery(query);
    const { documents } = drawers.size();
    const frequencies = terms.map((term) => drawers.termFrequency(term, documents));
    const picked = pickWords(frequencies, documents);
    if (picked.length === 0) return [];
    const found = rank(
      picked.map((index) => words[index] as string),
      filter,
      limit,
    );
    return found.length >= limit || picked.length === words.length ? found : rank(words, filter, limit);
  }

  function score(query: string, rows: readonly number[]): number[] {
    const parsed = parseQuery(query);
    if (parsed.terms.length === 0 || rows.length === 0) return rows.map(() => 0);
    const texts = readTexts.all(JSON.stringify(rows)) as DrawerText[];
    const own = scoreDrawers(parsed, texts);
    const whole = scoreSources(parsed, texts);
    const scores = new Map(
      texts.map(({ row, source }) => [row, (own.get(row) ?? 0) + SOURCE_WEIGHT * (whole.get(source ?? 0) ?? 0)]),
    );
    return rows.map((row) => scores.get(row) ?? 0);
  }

  function scoreDrawers({ words, terms, pairs }: ParsedQuery, texts: readonly DrawerText[]): Map<number, number> {
    const { documents, averageLength } = drawers.size();
    const count = termCounter(terms, pairs);
    const counted = texts.map(({ row, text, dateWords, sizes }) => ({
      row,
      length: documentLength(sizes) / averageLength,
      counts: addCounts(count(text), count(dateWords ?? "")),
    }));

    const termWeights = terms.map((term) => inverseFrequency(documents, drawers.termFrequency(term, documents)));
    // Counting a phrase is dear, and most pairs of a question stand nowhere among the candidates.
    const pairWeights = pairs.map((pair, index) => {
      if (!counted.some(({ counts }) => (counts.pairs[index] ?? 0) > 0)) return 0;
      const match = matchPhrase(pair.map((word) => words[word] as string));
      return PAIR_WEIGHT * inverseFrequency(documents, drawers.phraseFrequency(match, documents));
    });
    return new Map(
      counted.map(({ row, length, counts }) => [
        row,
        sumScores(termWeights, counts.terms, length) + sumScores(pairWeights, counts.pairs, length),
      ]),
    );
  }

  function scoreSources({ words, terms }: ParsedQuery, texts: readonly DrawerText[]): Map<number, number> {
    const wanted = [...new Set(texts.flatMap(({ source }) => (source === null ? [] : [source])))];
    const { documents } = sources.size();
    // A word of more than half of the sources weighs nothing there, and is the dearest to read.
    const telling = words.filter((_, index) => {
      const holding = sources.termFrequency(terms[index] as string, documents);
      return holding > 0 && holding * 2 <= documents;
    });
    if (wanted.length === 0 || telling.length === 0) return new Map();
    return new Map(rankSources.all(matchAny(telling), JSON.stringify(wanted)) as [number, number][]);
  }

  return { candidates, score };
});

/** BM25 by FTS5 itself, under each of the four filters. */
function prepareRanking(ledger: Database.Database): (words: string[], filter: PlaceFilter, limit: number) => Scored[] {
  const prepare = (place: string) =>
    ledger.prepare(
      `SELECT rowid AS row, -bm25(drawer_fts) AS score FROM drawer_fts WHERE drawer_fts MATCH ? ${place}
       ORDER BY bm25(drawer_fts), rowid LIMIT ?`,
    );
  const inPlace = (condition: string) => prepare(`AND +rowid IN (SELECT row FROM drawer WHERE ${condition})`);
  const anywhere = prepare("");
  const inWing = inPlace("wing = ?");
  const inRoom = inPlace("(wing, room) IN (SELECT wing, room FROM place WHERE room = ?)");
  const inBoth = inPlace("wing = ? AND room = ?");
  return (words, { wing, room }, limit) => {
    const match = matchAny(words);
    if (wing !== undefined && room !== undefined) return inBoth.all(match, wing, room, limit) as Scored[];
    if (wing !== undefined) return inWing.all(match, wing, limit) as Scored[];
    if (room !== undefined) return inRoom.all(match, room, limit) as Scored[];
    return anywhere.all(match, limit) as Scored[];
  };
}

function addCounts(a: Counts, b: Counts): Counts {
  const add = (one: number[], other: number[]): number[] => one.map((count, index) => count + (other[index] ?? 0));
  return { terms: add(a.terms, b.terms), pairs: add(a.pairs, b.pairs) };
}

function sumScores(weights: readonly number[], counts: readonly number[], length: number): number {
  let sum = 0;
  counts.forEach((count, index) => {
    if (count > 0) sum += scoreTerm(weights[index] ?? 0, count, length);
  });
  return sum;
}
