/** Searches words and vectors in parallel and combines the scores (docs/lab/search-recipe.md; form of the answer: palace.md 2.10). */
import type { Clock } from "../../base/clock.ts";
import type { Drawer, DrawerFilter } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import { type Embedder, type LexicalIndex, NEAR_PART, type Reranker, type VectorIndex } from "../port/search.ts";
import type { SearchMode } from "../../protocol/spec.ts";
import { parentOf, sourceOf } from "../drawer/logical.ts";
import type { SourceNames } from "../drawer/originals.ts";
import { nowAt } from "../graph/temporal.ts";
import { baseName, round } from "../text/text.ts";
import { alsoIn } from "./also-in.ts";
import { type Asks, askedFor } from "./asks.ts";
import { type AdjustByOutcomes, chooseHits, type Chosen } from "./choose.ts";
import { type Hit, labelClosets } from "./closet-search.ts";
import { isWeakMatch } from "./confidence.ts";
import { rankEverything } from "./everything.ts";
import { explainScore } from "./explain.ts";
import { neighborsOf } from "./neighbors.ts";
import { quotedPhrases } from "./phrases.ts";
import { isQuestion } from "./query-sanitizer.ts";
import { askedDates, withoutSpans } from "./question-dates.ts";
import { byScore, type Candidate, fuse, type Ranked, type RankMode } from "./fusion.ts";
import { rerank, type Reranked } from "./rerank.ts";
import { retrieve } from "./retrieve.ts";
import { weighSpeakers } from "./speakers.ts";
import { tableHeaderOf } from "./table-header.ts";
import { liftWishes, wishRows, withRows } from "./wishes.ts";

export type SearchDependencies = {
  reader: LedgerReader;
  lexical: LexicalIndex;
  vectors: VectorIndex;
  /** Returns undefined while the model is missing or loading. */
  embedder: () => Embedder | undefined;
  /** Returns the reason why the embedder is missing, which the answer states. */
  embedderDetail: () => string;
  /** Returns false if the model is optional and nobody has downloaded it. Answers then do not report it as missing. */
  isModelWanted: () => boolean;
  /** Returns the cross-encoder, or undefined if there is none; `rerankerDetail` then returns the reason. */
  reranker: () => Reranker | undefined;
  rerankerDetail: () => string;
  /** Finds the user's file for a staged copy. If undefined, sources are shown as they are filed. */
  files?: SourceNames;
  adjustByOutcomes: AdjustByOutcomes;
  /** Names of the project in which the asker works, the best one first. */
  project?: readonly string[];
  /** Clock for the time limit of vectors; a test passes its own. */
  clock?: Clock;
};

export type SearchRequest = {
  query: string;
  /** Texts to search for separately: the query, or a long prompt as a whole plus a few of its first and last sentences. */
  parts: readonly string[];
  filter: DrawerFilter;
  limit: number;
  /** Maximum cosine distance of a hit; 0 or less means no maximum. Hits without a vector are kept. */
  distanceMax: number;
  mode: SearchMode;
  /** True to add to each hit the parts of its score. */
  explain: boolean;
  /** Number of slices shown on each side of a hit. */
  neighbors: number;
  /** Wings of the project in which the asker works. */
  preferred?: ReadonlySet<string>;
  /** The asker's current day or moment, an ISO date; undefined if not given. */
  now: string | undefined;
};

export type SearchAnswer = {
  hits: Hit[];
  candidates: number;
  vectorDisabledReason: string | undefined;
  /** Phrases quoted in the query. `found`: true if some drawer has all phrases. Then all hits have all phrases. */
  phrases: { quoted: string[]; found: boolean } | undefined;
  reranked: Pick<Reranked, "state" | "detail">;
  /** True if copies of one text crowd out other hits, so that there may be more distinct hits. */
  isTruncated: boolean;
  /** Set if the question asks for everything about a subject. The exchanges among the hits are then from many conversations. */
  spread: Asks["everything"];
};

/** Minimum number of candidates by words. For a high `limit` it is `NEAR_PART` × `limit`, so that static vectors add `limit` candidates. */
const POOL_MIN = 100;
/** Value of `POOL_MIN` for a question about everything. */
const POOL_WIDE = 400;
/** Factor by which the number of candidates grows if copies of one text fill the list of hits. */
const POOL_GROWTH = 4;
const POOL_MAX = 1_600;
const COPIES_NAMED_MAX = 20;
/** Share of a drawer's score that comes from its score for the whole of a long prompt. The rest is its score for the best sentence. */
const WHOLE_WEIGHT = 0.25;
/** Factor on the weight of a prompt's statements, if another sentence is a question (source: docs/lab/search-recipe.md, long prompts). */
const STATEMENT_FACTOR = 0.7;

export async function search(dependencies: SearchDependencies, request: SearchRequest): Promise<SearchAnswer> {
  let before: Omit<SearchAnswer, "isTruncated"> | undefined;
  const asks = askedFor(request.query);
  const poolMin = asks.everything === undefined || isPlainMode(request.mode) ? POOL_MIN : POOL_WIDE;
  for (let pool = Math.max(poolMin, NEAR_PART * request.limit); ; pool *= POOL_GROWTH) {
    const answer = await searchAmong(dependencies, request, asks, pool);
    // Vectors may fail or time out in a search with more candidates. The earlier answer, which used vectors, is then better.
    const isPoorer = answer.vectorDisabledReason !== undefined && before?.vectorDisabledReason === undefined;
    if (before !== undefined && isPoorer) return { ...before, isTruncated: true };
    const isShort =
      answer.hits.length < request.limit && answer.candidates * NEAR_PART >= pool && answer.hits.some(hasCopies);
    if (!isShort || pool >= POOL_MAX) return { ...answer, isTruncated: isShort };
    before = answer;
  }
}

function hasCopies(hit: Hit): boolean {
  return hit["near_duplicates"] !== undefined || hit["same_exchange"] !== undefined;
}

async function searchAmong(
  dependencies: SearchDependencies,
  request: SearchRequest,
  asks: Asks,
  pool: number,
): Promise<Omit<SearchAnswer, "isTruncated">> {
  const { query, filter, limit, mode } = request;
  const quoted = quotedPhrases(query);
  const isLexical = mode === "lexical";
  const embedder = isLexical ? undefined : dependencies.embedder();
  const dates = askedDates(query, request.now);
  const parts = partsOf(request, asks);
  const found = await Promise.all(
    parts.map((part) =>
      retrieve({ ...dependencies, embedder }, { query: withoutSpans(part, dates), isLexical, filter, pool, quoted }),
    ),
  );
  const vector = found.find((one) => one.vector !== undefined)?.vector;
  const rankMode = isLexical ? "lexical" : vector === undefined ? "static" : mode === "vector" ? "vector" : "hybrid";
  const meaningMin = asks.everything === undefined ? undefined : -1;
  const fused = withSentences(
    found.map(({ candidates }) => fuse(candidates, rankMode, meaningMin)),
    parts.slice(1).map(isQuestion),
    rankMode,
  ).filter(({ cosine }) => request.distanceMax <= 0 || Number.isNaN(cosine) || 1 - cosine <= request.distanceMax);
  const isPlain = isPlainMode(mode);
  const { ranked: weighed, isSpread } = isPlain
    ? { ranked: fused, isSpread: false }
    : await weigh(dependencies, fused, { asks, candidates: found[0]?.candidates ?? [], rankMode, request });
  const reranker = isPlain ? undefined : dependencies.reranker();
  const absence = isPlain ? `mode ${mode} is searched for itself` : dependencies.rerankerDetail();
  const { ranked, ...reranked } = await rerank({ reader: dependencies.reader, reranker }, query, weighed, absence);
  const options = {
    limit,
    dates,
    now: request.now === undefined ? nowAt(Date.now()) : { moment: request.now, today: request.now.slice(0, 10) },
    adjustByOutcomes: dependencies.adjustByOutcomes,
    preferred: request.preferred ?? new Set<string>(),
    end: isPlain ? undefined : asks.end,
    isPast: asks.isPast,
  };
  const hits = chooseHits(dependencies.reader, ranked, options).map((chosen) => ({
    ...toHit(chosen.drawer, chosen.ranked, vector !== undefined),
    ...notesOn(dependencies, chosen, rankMode, request),
    ...(asks.isSmallTalk && { weak: true }),
  }));
  const failure = found.find((one) => one.failure !== undefined)?.failure;
  const asked = mode === "auto" ? failure !== undefined || dependencies.isModelWanted() : mode !== "lexical";
  return {
    hits:
      vector === undefined
        ? hits
        : labelClosets(dependencies.reader, hits, { vector, rows: ranked.map((hit) => hit.row), filter }),
    candidates: fused.length,
    vectorDisabledReason: asked && vector === undefined ? (failure ?? dependencies.embedderDetail()) : undefined,
    reranked,
    spread: isSpread ? asks.everything : undefined,
    phrases: quoted.length > 0 ? { quoted, found: found.some(({ isQuoted }) => isQuoted) } : undefined,
  };
}

function isPlainMode(mode: SearchMode): boolean {
  return mode === "lexical" || mode === "vector";
}

/** Returns the texts to search for. For a short question about everything, returns its subject. */
function partsOf({ parts, mode }: SearchRequest, { everything, subject }: Asks): readonly string[] {
  return everything === undefined || parts.length > 1 || isPlainMode(mode) ? parts : [subject];
}

type Weighing = { asks: Asks; candidates: readonly Candidate[]; rankMode: RankMode; request: SearchRequest };

/** Changes the scores of drawers from transcripts according to the kind of question. */
async function weigh(
  dependencies: SearchDependencies,
  fused: readonly Ranked[],
  { asks, candidates, rankMode, request: { filter, limit, query } }: Weighing,
): Promise<{ ranked: Ranked[]; isSpread: boolean }> {
  const { everything, subject, wishes } = asks;
  const rows = wishes === undefined ? [] : await wishRows(dependencies, fused, filter);
  const ranked = await withRows(dependencies, fused, { candidates, query, mode: rankMode }, rows);
  if (everything !== undefined)
    return rankEverything(dependencies, ranked, { subject, wishes: wishes === "all", limit });
  const weighed = weighSpeakers(dependencies.reader, ranked, limit);
  const lifted = rows.length === 0 ? weighed : await liftWishes(dependencies, weighed, query, rows, limit);
  return { ranked: lifted, isSpread: false };
}

/**
 * Combines the answers to a long prompt and to each of its sentences. A sentence counts less if even its best hit shares only few or
 * frequent words with it, because such a sentence says little. If a sentence is a question, statements count less (docs/lab/search-recipe.md, long prompts).
 */
function withSentences([whole = [], ...sentences]: Ranked[][], isAsking: boolean[], mode: RankMode): Ranked[] {
  if (sentences.length === 0) return whole;
  const wordMax = sentences.map((ranked) => ranked.reduce((max, { lexical }) => Math.max(max, lexical), 0));
  const other = isAsking.includes(true) ? STATEMENT_FACTOR : 1;
  const weights = wordMax.map((max, at) => (isAsking[at] === true ? max : max * other));
  const most = Math.max(...weights);
  const best = new Map<number, Ranked>();
  for (const [at, sentence] of sentences.entries()) {
    const weight = most > 0 && mode !== "vector" ? (weights[at] ?? 0) / most : 1;
    for (const ranked of sentence) {
      const one = { ...ranked, score: ranked.score * weight, sentenceWeight: isAsking[at] === true ? 1 : weight };
      if (one.score > (best.get(one.row)?.score ?? Number.NEGATIVE_INFINITY)) best.set(one.row, one);
    }
  }
  const wholes = new Map(whole.map((ranked) => [ranked.row, ranked]));
  const scoreIn = (among: ReadonlyMap<number, Ranked>, row: number): number => among.get(row)?.score ?? 0;
  const mixed = (row: number): number => WHOLE_WEIGHT * scoreIn(wholes, row) + (1 - WHOLE_WEIGHT) * scoreIn(best, row);
  return [...new Map([...wholes, ...best])].map(([row, one]) => ({ ...one, score: mixed(row) })).sort(byScore);
}

function notesOn(
  { reader }: SearchDependencies,
  { drawer, ranked, adjustments, stale, duplicates, exchange, supersededBy }: Chosen,
  mode: RankMode,
  { explain, neighbors }: SearchRequest,
): Record<string, unknown> {
  const copies = alsoIn(drawer, duplicates);
  const header = tableHeaderOf(reader, drawer);
  return {
    ...(isWeakMatch(ranked, drawer.text.length) && { weak: true }),
    ...(stale.length > 0 && { outdated: stale.map(({ fact, ended }) => ({ fact, ended })) }),
    ...(supersededBy !== undefined && { superseded_by: supersededBy }),
    ...(copies.length > 0 && { also_in: copies }),
    ...(duplicates.length > 0 && { near_duplicates: duplicates.slice(0, COPIES_NAMED_MAX).map(({ id }) => id) }),
    ...(exchange.length > 0 && { same_exchange: exchange.slice(0, COPIES_NAMED_MAX).map(({ id }) => id) }),
    ...(header !== undefined && { table_header: header }),
    ...(neighbors > 0 && { neighbors: neighborsOf(reader, drawer, neighbors) }),
    ...(explain && { explain: explainScore(ranked, adjustments, mode) }),
  };
}

function toHit(
  { id, wing, room, text, metadata }: Drawer,
  { score, lexical, cosine, words }: Ranked,
  vectors: boolean,
): Hit {
  const sourceFile = sourceOf({ metadata });
  const filedAt = metadata["filed_at"] ?? "unknown";
  const parent = parentOf(metadata);
  const hasVector = !Number.isNaN(cosine);
  const distance = hasVector ? round(1 - cosine, 4) : null;
  return {
    text,
    wing,
    room,
    source_file: baseName(sourceFile) || "?",
    created_at: filedAt,
    similarity: hasVector ? round(Math.max(0, cosine), 3) : null,
    distance,
    ...(vectors && { effective_distance: distance, closet_boost: 0 }),
    matched_via: vectors ? "drawer" : words.drawer > 0 ? "bm25_sqlite" : "static_vector",
    bm25_score: round(lexical, 3),
    // Id of the whole drawer. A slice has `chunk_id`, too.
    drawer_id: parent ?? id,
    ...(parent !== undefined && { chunk_id: id }),
    score: round(score, 4),
    source_path: sourceFile,
    filed_at: filedAt,
    authored_at: metadata["authored_at"] ?? filedAt,
    authored_at_source:
      metadata["authored_at"] !== undefined ? "authored_at" : filedAt === "unknown" ? filedAt : "filed_at",
    content_date: metadata["content_date"] ?? null,
    content_date_source: metadata["content_date_source"] ?? "unknown",
  };
}
