/** Finds memories by words and by meaning, on the broker's main thread (outcome-memory.md 3.2–3.5). */
import { setImmediate as nextTurn } from "node:timers/promises";
import { within } from "../../base/time-limit.ts";
import type { MemoryReader } from "../../memory/port/memory.ts";
import type { Embedder, LexicalIndex, Reranker, VectorIndex } from "../../memory/port/search.ts";
import { STALE_FACTOR, staleFactsIn, worstOf } from "../../memory/graph/stale-facts.ts";
import { nowAt } from "../../memory/graph/temporal.ts";
import { spelledOut } from "./acronyms.ts";
import { entitiesNamed } from "./content-graph.ts";
import { type Filters, matches } from "./filters.ts";
import { fuseByPlace } from "./fusion.ts";
import { alike, type Likeness } from "./likeness.ts";
import { mayBeSolution, type Solved, STARTING_DISTANCE } from "./known-solutions.ts";
import { type Lessons, lessonsOf, rateOf } from "./lessons.ts";
import { type Collection, COLLECTIONS } from "../memory/memory.ts";
import { boosted, rank, type Rank, worth } from "./ranking.ts";
import { fitOf, READ_CHARACTERS, READ_MAX, reread } from "./reranking.ts";
import { type Memory, MEMORY_WING, toMemory } from "../memory/as-drawer.ts";
import { trust, wrongShare } from "../scoring/trust.ts";

export type FindContext = {
  reader: Pick<
    MemoryReader,
    "drawersByRow" | "listDrawers" | "standings" | "findDrawer" | "graph" | "places" | "answered" | "toldOf" | "toldIn"
  >;
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
  isLeftOut?: (memory: Memory) => boolean;
  nowMs: number;
};

/** Memory that a search found. `solved` says how the memory solved this question before (known-solutions.ts). */
export type Found = Memory &
  Likeness & {
    row: number;
    rank: Rank;
    isStale: boolean;
    trusted: number;
    solved: Solved | undefined;
    /** Fit of the text to the question by a cross-encoder, 0…1. */
    fit?: number;
  };

/** Number of candidates per wanted memory in a collection. The searches by words and by vectors each find twice as many. */
const CANDIDATES_FACTOR = 3;
const DEADLINE_MS = 2_000;
const RERANK_MS = 1_500;
/** Assumed distances of memories without a vector: `most` for the best score by words (like a cosine of 0.5), `none` for a score of 0. */
const UNKNOWN_DISTANCE = { most: 1, none: 2 } as const;
/** Twice as many memories as wanted are compared with the graph's facts, to find those that state an ended fact. */
const STALE_READ = 2;
const STALE_READ_MAX = 60;
/** Number of candidates for a search with filters, because filters are applied after the search. */
const FILTERED_CANDIDATES = 1_000;
/** Number of memories in one read. The broker answers other calls between two reads. */
const SLICE = 500;
const BANK: Collection = "memory_bank";

/** Finds memories, best first. Collections that answered similar questions are preferred, unless the request names collections. */
export async function findMemories(context: FindContext, request: FindRequest): Promise<Found[]> {
  const { query, limit, nowMs } = request;
  const asked = spelledOut(query);
  const question = { query: asked, vector: await embedded(context, asked) };
  const lessons = lessonsOf(context.reader, query);
  const pools = await pooled(context, question, request, lessons);
  const routed = request.collections === undefined ? lessons.collections : COLLECTIONS;
  const found = await judged(context, question, pools, { ...lessons, collections: routed }, nowMs);
  const current = withStale(context, found.sort(byRank), limit, nowMs);
  return (await reranked(context, query, current, limit)).slice(0, limit);
}

/** Collects candidates, also memories that solved the question before but were not found by the search. */
async function pooled(
  context: FindContext,
  question: Question,
  { collections = COLLECTIONS, limit, filters = {}, isLeftOut = () => false }: FindRequest,
  lessons: Lessons,
): Promise<Candidate[]> {
  const pool = Object.keys(filters).length > 0 ? FILTERED_CANDIDATES : limit * CANDIDATES_FACTOR;
  const pools = await gathered(context, question, collections, limit, pool);
  const known = new Set(pools.map(({ drawerId }) => drawerId));
  const missed = [...lessons.solved.keys()].filter((id) => !known.has(id));
  const solutions = missed.flatMap((id) => solution(context, id) ?? []);
  return [...pools, ...solutions.filter(({ collection }) => collections.includes(collection))].filter(
    (memory) => matches(memory, filters) && !isLeftOut(memory),
  );
}

function solution({ reader }: FindContext, id: string): Candidate | undefined {
  const drawer = reader.findDrawer(id);
  const memory = drawer && toMemory(drawer, reader.standings([id]).get(id));
  if (drawer === undefined || memory === undefined || !mayBeSolution(memory.collection)) return undefined;
  return { ...memory, row: drawer.row, words: 0 };
}

async function judged(
  context: FindContext,
  { query, vector }: Question,
  pools: readonly Candidate[],
  { solved, collections, alike: here }: Lessons,
  nowMs: number,
): Promise<Found[]> {
  const cosines = await cosinesOf(context, vector, pools);
  const most = Math.max(...pools.map(({ words }) => words));
  const likened = about(
    pools.map((memory, at) => ({ ...memory, cosine: cosines[at] ?? Number.NaN })),
    solved,
  );
  const evidence = evidenceOf(context, likened);
  const entities = entitiesNamed(query, likened);
  const wrong = wrongShare(pools.map(({ standing }) => standing.past));
  return likened.map((memory, at): Found => {
    const { cosine, drawerId, collection } = memory;
    const known = mayBeSolution(collection) ? solved.get(drawerId) : undefined;
    const isMissed = known !== undefined && memory.words === 0;
    const unknown = isMissed ? STARTING_DISTANCE : unknownDistance(memory.words / most);
    const distance = Number.isNaN(cosine) ? unknown : Math.max(2 - 2 * cosine, 0);
    const near = boosted(memory, distance, {
      ...{ ageMs: nowMs - memory.madeMs, evidence: evidence.get(drawerId), entities: entities[at] ?? 1 },
      ...{ solved: known?.how, isRouted: collections.length < COLLECTIONS.length && collections.includes(collection) },
    });
    const times = here.get(drawerId);
    const heard = memory.standing.past.map(({ outcome, atMs }) => ({ outcome, isHere: times?.has(atMs) === true }));
    return { ...memory, isStale: false, rank: rank(memory, near), trusted: trust(heard, wrong), solved: known };
  });
}

/** Drops memories that are not about the question, unless they solved the same question before. */
function about<M extends Memory & Likeness>(memories: readonly M[], solved: Lessons["solved"]): M[] {
  const near = new Set(alike(memories));
  return memories.filter(
    (one) => near.has(one) || (mayBeSolution(one.collection) && solved.get(one.drawerId)?.how === "exactly"),
  );
}

/** Returns the uses and the success rate of facts and books, by drawer. */
function evidenceOf({ reader }: FindContext, memories: readonly Memory[]): Map<string, { uses: number; rate: number }> {
  const standing = memories.filter(({ collection }) => collection === "memory_bank" || collection === "books");
  if (standing.length === 0) return new Map();
  const told = reader.toldOf(standing.map(({ drawerId }) => drawerId));
  return new Map([...told].map(([id, one]) => [id, rateOf(one)]));
}

/** Marks memories that state a fact which the graph records as ended. Checks only the first memories, because only they may be shown. */
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

/** Returns the distance of a memory without a vector. `share` is its score by words, divided by the best score; NaN if all are 0. */
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
 * Finds about `pool` candidates of each collection. The memory bank has its own search. One search covers all other collections, because it
 * costs as much as a search of one collection; a second search follows for a collection with too few results.
 */
async function gathered(
  context: FindContext,
  question: Question,
  collections: readonly Collection[],
  limit: number,
  pool: number,
): Promise<Candidate[]> {
  const alone = collections.filter((room) => room === BANK || collections.length === 1);
  const [several, ...apart] = await Promise.all([
    alone.length === collections.length ? [] : candidates(context, question, {}, pool * collections.length),
    ...alone.map((room) => candidates(context, question, { room }, pool)),
  ]);
  const found = [...several.filter(({ collection }) => collections.includes(collection)), ...apart.flat()];
  const few = collections.filter(
    (room) => !alone.includes(room) && found.filter(({ collection }) => collection === room).length < limit,
  );
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

/** Sorts again with the cross-encoder, if it is loaded and more than twice as many memories as wanted were found. */
async function reranked({ reranker }: FindContext, query: string, found: Found[], limit: number): Promise<Found[]> {
  const model = reranker();
  if (model === undefined || found.length <= 2 * limit) return found;
  const first = found.slice(0, READ_MAX);
  try {
    const texts = first.map(({ text }) => text.slice(0, READ_CHARACTERS));
    const logits = await model.rerank(query, texts, RERANK_MS);
    const again = first.map((one, at): Found => {
      const fact = one.collection === "memory_bank" ? one.weight : undefined;
      const fit = fitOf(logits[at] ?? 0);
      const similarity = reread({ standing: one.standing, fact, before: one.rank.similarity }, fit);
      return { ...one, fit, rank: { ...one.rank, similarity } };
    });
    return [...again.sort(byRank), ...found.slice(READ_MAX)];
  } catch {
    return found;
  }
}

function byRank(a: Found, b: Found): number {
  return placeOf(b) - placeOf(a) || a.row - b.row;
}

/** Returns the value to sort by. It is lower for a memory that states an ended fact. */
function placeOf(memory: Found): number {
  const { rank, isStale, trusted } = memory;
  return worth(memory, isStale ? rank.similarity * STALE_FACTOR : rank.similarity, trusted);
}
