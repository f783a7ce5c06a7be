/**
 * Finds memories: candidates by words and by meaning in each collection, in the order of ranking.ts. Runs on the broker's main thread.
 * Source: outcome-memory.md 3.2–3.5.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { within } from "../../platform/within.ts";
import type { LedgerReader } from "../../port/ledger.ts";
import type { Embedder, LexicalIndex, Reranker, VectorIndex } from "../../port/search.ts";
import { STALE_FACTOR, staleFactsIn, worstOf } from "../graph/stale-facts.ts";
import { nowAt } from "../graph/temporal.ts";
import { spelledOut } from "./acronyms.ts";
import { type Filters, matches } from "./filters.ts";
import { fuseByPlace } from "./fusion.ts";
import { alike, type Likeness } from "./likeness.ts";
import { type Collection, COLLECTIONS } from "./memory.ts";
import { boosted, rank, type Rank, worth } from "./ranking.ts";
import { READ_CHARACTERS, READ_MAX, reread } from "./reranking.ts";
import { type Memory, MEMORY_WING, toMemory } from "./store.ts";

export type FindContext = {
  reader: Pick<LedgerReader, "drawersByRow" | "listDrawers" | "standings" | "findDrawer" | "graph" | "places">;
  lexical: Pick<LexicalIndex, "candidates">;
  vectors: Pick<VectorIndex, "around" | "similarity">;
  embedder: () => Embedder | undefined;
  reranker: () => Reranker | undefined;
};

export type FindRequest = {
  query: string;
  collections?: readonly Collection[];
  limit: number;
  filters?: Filters;
  /** Memories that are to be left out. */
  isLeftOut?: (memory: Memory) => boolean;
  nowMs: number;
};

/** `cosine`: NaN where there are no vectors, or the memory waits for its own. */
export type Found = Memory & Likeness & { row: number; rank: Rank; isStale: boolean };

/** Candidates of a collection, for each memory wanted; the words and the vectors find twice as many each. */
const CANDIDATES_FACTOR = 3;
const DEADLINE_MS = 2_000;
const RERANK_MS = 1_500;
/** A memory without a vector: the one with most of the question's words is as near as one whose meaning is half the same. */
const UNKNOWN_DISTANCE = { most: 1, none: 2 } as const;
/** Of the memories wanted, so many times as many are held against the facts of the graph, and no more than that. */
const STALE_READ = 2;
const STALE_READ_MAX = 60;
/** With filters, which are held against what was found, so many are looked at. */
const FILTERED_CANDIDATES = 1_000;
/** Memories that are read at once; others are served between. */
const SLICE = 500;

/** Best first. A half that fails leaves the other. */
export async function findMemories(context: FindContext, request: FindRequest): Promise<Found[]> {
  const { query, collections = COLLECTIONS, limit, filters = {}, isLeftOut = () => false, nowMs } = request;
  const asked = spelledOut(query);
  const vector = await embedded(context, asked);
  const pool = Object.keys(filters).length > 0 ? FILTERED_CANDIDATES : limit * CANDIDATES_FACTOR;
  const pools = await gathered(context, { query: asked, vector }, collections, limit, pool);
  const words = new Map(pools.map((one) => [one.row, one.words]));
  const memories = pools.filter((memory) => matches(memory.metadata, filters) && !isLeftOut(memory));
  const cosines = await cosinesOf(context, vector, memories);
  const likened = memories.map((memory, at) => ({
    ...{ ...memory, cosine: cosines[at] ?? Number.NaN },
  }));
  const most = Math.max(...words.values());
  const found = alike(likened).map((memory): Found => {
    const { cosine } = memory;
    const distance = Number.isNaN(cosine) ? unknownDistance(memory.words / most) : Math.max(2 - 2 * cosine, 0);
    const boosts = { ageMs: nowMs - memory.madeMs, evidence: undefined, entities: 1, solved: undefined };
    return { ...memory, isStale: false, rank: rank(memory, boosted(memory, distance, boosts)) };
  });
  const current = withStale(context, found.sort(byRank), limit, nowMs);
  return (await reranked(context, query, current, limit)).slice(0, limit);
}

/** Marks those that state what a fact of the graph says is over. Only those that may be shown are read. */
function withStale({ reader }: FindContext, found: readonly Found[], limit: number, nowMs: number): Found[] {
  const first = found.slice(0, Math.min(STALE_READ * limit, STALE_READ_MAX));
  const stale = staleFactsIn(
    reader.graph,
    first.map(({ text }) => text),
    nowAt(nowMs),
  );
  const marked = first.map((memory, at) => ({ ...memory, isStale: worstOf(stale[at] ?? []) !== undefined }));
  return [...marked, ...found.slice(first.length)].sort(byRank);
}

/** `share`: of the words' score of the best; NaN where the words have found nothing. */
function unknownDistance(share: number): number {
  const { most, none } = UNKNOWN_DISTANCE;
  return Number.isNaN(share) ? most : none - share * (none - most);
}

async function embedded({ embedder }: FindContext, text: string): Promise<Float32Array | undefined> {
  try {
    return (await within(embedder()?.embed([text]) ?? Promise.resolve([]), DEADLINE_MS))?.[0];
  } catch {
    return undefined;
  }
}

type Question = { query: string; vector: Float32Array | undefined };
type Candidate = Memory & { row: number; words: number };

/**
 * `pool` of each collection, or nearly so: one search of all of them costs as much as of one. A collection of which that has found
 * fewer than may be shown is searched by itself.
 */
async function gathered(
  context: FindContext,
  question: Question,
  collections: readonly Collection[],
  limit: number,
  pool: number,
): Promise<Candidate[]> {
  const several = collections.length === 1 ? [] : await candidates(context, question, {}, pool * collections.length);
  const found = several.filter(({ collection }) => collections.includes(collection));
  const few = collections.filter((room) => found.filter(({ collection }) => collection === room).length < limit);
  const more = await Promise.all(few.map((room) => candidates(context, question, { room }, pool)));
  return [...new Map([...found, ...more.flat()].map((one) => [one.row, one])).values()];
}

async function candidates(
  context: FindContext,
  { query, vector }: Question,
  place: { room?: Collection },
  pool: number,
): Promise<Candidate[]> {
  const { lexical, vectors } = context;
  const filter = { wing: MEMORY_WING, ...place };
  const [words, near] = await Promise.all([
    lexical.candidates(query, filter, 2 * pool),
    vector === undefined ? [] : vectors.around(vector, filter, 2 * pool).catch(() => []),
  ]);
  const scores = new Map(words.map(({ row, score }) => [row, score]));
  const rows = fuseByPlace([near.slice(0, 2 * pool), [...scores.keys()]])
    .slice(0, pool)
    .map(({ id }) => id);
  return (await read(context, rows)).map((memory) => ({ ...memory, words: scores.get(memory.row) ?? 0 }));
}

async function read({ reader }: FindContext, rows: readonly number[]): Promise<(Memory & { row: number })[]> {
  const memories: (Memory & { row: number })[] = [];
  for (let start = 0; start < rows.length; start += SLICE) {
    if (start > 0) await nextTurn();
    const drawers = reader.drawersByRow(rows.slice(start, start + SLICE));
    const standings = reader.standings(drawers.map(({ id }) => id));
    for (const drawer of drawers) {
      const memory = toMemory(drawer, standings.get(drawer.id));
      if (memory !== undefined) memories.push({ ...memory, row: drawer.row });
    }
  }
  return memories;
}

async function cosinesOf(
  { vectors }: FindContext,
  vector: Float32Array | undefined,
  memories: readonly { row: number }[],
): Promise<number[]> {
  if (vector === undefined) return [];
  return vectors
    .similarity(
      vector,
      memories.map(({ row }) => row),
    )
    .catch(() => []);
}

/** Only where there is a choice to be made. */
async function reranked({ reranker }: FindContext, query: string, found: Found[], limit: number): Promise<Found[]> {
  const model = reranker();
  if (model === undefined || found.length <= 2 * limit) return found;
  const first = found.slice(0, READ_MAX);
  try {
    const texts = first.map(({ text }) => text.slice(0, READ_CHARACTERS));
    const logits = await model.rerank(query, texts, RERANK_MS);
    const again = first.map((one, at): Found => {
      const fact = one.collection === "memory_bank" ? one.weight : undefined;
      const similarity = reread({ standing: one.standing, fact, before: one.rank.similarity }, logits[at] ?? 0);
      return { ...one, rank: { ...one.rank, similarity } };
    });
    return [...again.sort(byRank), ...found.slice(READ_MAX)];
  } catch {
    return found;
  }
}

function byRank(a: Found, b: Found): number {
  return placeOf(b) - placeOf(a) || a.row - b.row;
}

/** What states a fact that has ended is worth less, whatever came of it before. */
function placeOf(memory: Found): number {
  const { rank, isStale } = memory;
  return worth(memory, isStale ? rank.similarity * STALE_FACTOR : rank.similarity);
}
