/**
 * Finds memories: candidates by words and by meaning in each collection, in the order of ranking.ts. Runs on the broker's main thread.
 * Source: outcome-memory.md 3.2–3.5, 3.7.
 */
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
  reader: Pick<LedgerReader, "drawersByRow" | "listDrawers" | "standings" | "findDrawer" | "graph">;
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
/** Of the memories wanted, so many times as many are held against the facts of the graph. */
const STALE_READ = 2;
/** With filters, which are held against what was found, so many are looked at. */
const FILTERED_CANDIDATES = 1_000;
/** Memories that are listed without a question, of each collection, and those read at once. */
const LISTED_MAX = 10_000;
const PAGE = 1_000;

/** Best first. A half that fails leaves the other. */
export async function findMemories(context: FindContext, request: FindRequest): Promise<Found[]> {
  const { query, collections = COLLECTIONS, limit, filters = {}, isLeftOut = () => false, nowMs } = request;
  const asked = spelledOut(query);
  const vector = await embedded(context, asked);
  const pool = Object.keys(filters).length > 0 ? FILTERED_CANDIDATES : limit * CANDIDATES_FACTOR;
  const pools = await Promise.all(collections.map((room) => candidates(context, asked, vector, room, pool)));
  const words = new Map(pools.flat().map((one) => [one.row, one.words]));
  const memories = read(context, [...words.keys()]).filter(
    (memory) => matches(memory.metadata, filters) && !isLeftOut(memory),
  );
  const cosines = await cosinesOf(context, vector, memories);
  const likened = memories.map((memory, at) => ({
    ...{ ...memory, cosine: cosines[at] ?? Number.NaN, words: words.get(memory.row) ?? 0 },
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
  const first = found.slice(0, STALE_READ * limit);
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

/** The memories of the collections, for who asks for what is there and not for what fits. */
export function listMemories(
  context: Pick<FindContext, "reader">,
  { collections = COLLECTIONS, filters = {} }: Pick<FindRequest, "collections" | "filters">,
): Memory[] {
  return collections.flatMap((room) =>
    memoriesIn(context, room)
      .filter(({ metadata }) => matches(metadata, filters))
      .take(LISTED_MAX)
      .toArray(),
  );
}

/** All of a collection in the order of their filing, page by page. */
export function* memoriesIn({ reader }: Pick<FindContext, "reader">, room: Collection): Generator<Memory, void> {
  for (let offset = 0; ; offset += PAGE) {
    const { drawers } = reader.listDrawers({ wing: MEMORY_WING, room }, PAGE, offset);
    const standings = reader.standings(drawers.map(({ id }) => id));
    for (const drawer of drawers) {
      const memory = toMemory(drawer, standings.get(drawer.id));
      if (memory !== undefined) yield memory;
    }
    if (drawers.length < PAGE) return;
  }
}

async function embedded({ embedder }: FindContext, text: string): Promise<Float32Array | undefined> {
  try {
    return (await within(embedder()?.embed([text]) ?? Promise.resolve([]), DEADLINE_MS))?.[0];
  } catch {
    return undefined;
  }
}

async function candidates(
  { lexical, vectors }: FindContext,
  query: string,
  vector: Float32Array | undefined,
  room: Collection,
  pool: number,
): Promise<{ row: number; words: number }[]> {
  const filter = { wing: MEMORY_WING, room };
  const [words, near] = await Promise.all([
    lexical.candidates(query, filter, 2 * pool),
    vector === undefined ? [] : vectors.around(vector, filter, 2 * pool).catch(() => []),
  ]);
  const scores = new Map(words.map(({ row, score }) => [row, score]));
  return fuseByPlace([near.slice(0, 2 * pool), [...scores.keys()]])
    .slice(0, pool)
    .map(({ id }) => ({ row: id, words: scores.get(id) ?? 0 }));
}

function read({ reader }: FindContext, rows: readonly number[]): (Memory & { row: number })[] {
  const drawers = reader.drawersByRow(rows);
  const standings = reader.standings(drawers.map(({ id }) => id));
  return drawers.flatMap((drawer) => {
    const memory = toMemory(drawer, standings.get(drawer.id));
    return memory === undefined ? [] : [{ ...memory, row: drawer.row }];
  });
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
