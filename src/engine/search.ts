/**
 * Search: BM25 and vectors are retrieved side by side, every candidate gets both scores, the scores are fused.
 * No I/O of its own: the indexes come through their ports. Runs on the broker's main thread, which only waits.
 * Source: the recipe of bench/README.md; the shape of the answer is palace.md 2.10.
 */
import type { SearchMode } from "../protocol/spec.ts";
import type {
  Drawer,
  DrawerFilter,
  Embedder,
  LedgerReader,
  LexicalIndex,
  Reranker,
  VectorIndex,
} from "../store/port.ts";
import { chooseHits, type Chosen } from "./choose.ts";
import { labelClosets } from "./closet-search.ts";
import { isWeakMatch } from "./confidence.ts";
import { explainScore } from "./explain.ts";
import { parentOf } from "./logical.ts";
import { neighborsOf } from "./neighbors.ts";
import { quotedPhrases } from "./phrases.ts";
import { askedDates } from "./question-dates.ts";
import { fuse, type Ranked, type RankMode } from "./rank.ts";
import { rerank, type Reranked } from "./rerank.ts";
import { baseName, round } from "./text.ts";

export type SearchDependencies = {
  reader: Pick<LedgerReader, "drawersByRow" | "slicesOf" | "slicesOfSource" | "graph" | "closets">;
  lexical: LexicalIndex;
  vectors: VectorIndex;
  /** Undefined = lexical mode: no model, or it is still being loaded. */
  embedder: () => Embedder | undefined;
  /** Why there is no embedder, for the answer. */
  embedderDetail: () => string;
  /** The cross-encoder; undefined where none is there, which `rerankerDetail` says. */
  reranker: () => Reranker | undefined;
  rerankerDetail: () => string;
};

export type SearchRequest = {
  query: string;
  filter: DrawerFilter;
  limit: number;
  /** Cosine distance beyond which a hit is dropped; 0 or less = none is. Hits without a vector are kept. */
  distanceMax: number;
  mode: SearchMode;
  /** Each hit tells what its score is made of. */
  explain: boolean;
  /** Slices shown on each side of a hit. */
  neighbors: number;
  /** The day or moment it is for who asks, an ISO date; undefined where that was not said. */
  now: string | undefined;
};

export type SearchAnswer = {
  hits: Hit[];
  candidates: number;
  vectorDisabledReason: string | undefined;
  /** Quoted in the query; `found`: some drawer has them all, and only such drawers are among the hits. */
  phrases: { quoted: string[]; found: boolean } | undefined;
  reranked: Pick<Reranked, "state" | "detail">;
};

export type Hit = Record<string, unknown> & { drawer_id: string; text: string };

/** Candidates of each list. More than the largest limit, so that fusing can always fill it. */
const CANDIDATES = 100;
/** Long enough for a busy machine; a search by words takes milliseconds. */
const VECTOR_DEADLINE_MS = 2_000;
const NO_WORDS = { drawer: 0, pairs: 0, source: 0, coverage: 0 };

export async function search(dependencies: SearchDependencies, request: SearchRequest): Promise<SearchAnswer> {
  const { lexical, vectors } = dependencies;
  const { query, filter, limit, mode } = request;
  const embedder = mode === "lexical" ? undefined : dependencies.embedder();
  const quoted = quotedPhrases(query);
  const retrieved = Math.max(CANDIDATES, limit);

  const nearest = async (): Promise<{ vector: Float32Array; rows: number[] } | undefined> => {
    const [vector] = embedder === undefined ? [] : await embedder.embed([query]);
    if (vector === undefined) return undefined;
    return { vector, rows: (await vectors.nearest(vector, filter, retrieved)).map((hit) => hit.row) };
  };
  // The vector half may fail or lag (a dead thread, a remote Chroma): words alone answer then, and the answer says so.
  let failure: string | undefined;
  const nearestOrNothing = (): ReturnType<typeof nearest> =>
    within(nearest(), VECTOR_DEADLINE_MS).catch((error: unknown) => {
      failure = error instanceof Error ? error.message : String(error);
      return undefined;
    });
  const [lexicalHits, near, phraseRows] = await Promise.all([
    lexical.candidates(query, filter, retrieved),
    nearestOrNothing(),
    quoted.length === 0 ? [] : lexical.phraseRows(quoted, filter, retrieved),
  ]);

  const found = [...new Set([...lexicalHits.map((hit) => hit.row), ...(near?.rows ?? [])])];
  // Who quotes wants these words and no others, wherever a drawer has them.
  const rows = phraseRows.length > 0 ? phraseRows : found;
  const [lexicalScores, cosines] = await Promise.all([
    lexical.score(query, rows),
    near === undefined
      ? rows.map(() => Number.NaN)
      : vectors.similarity(near.vector, rows).catch(() => rows.map(() => Number.NaN)),
  ]);
  const candidates = rows.map((row, index) => ({
    row,
    words: lexicalScores[index] ?? NO_WORDS,
    cosine: cosines[index] ?? Number.NaN,
  }));
  const rankMode = near === undefined ? "lexical" : mode === "vector" ? "vector" : "hybrid";
  const fused = fuse(candidates, rankMode).filter(
    ({ cosine }) => request.distanceMax <= 0 || Number.isNaN(cosine) || 1 - cosine <= request.distanceMax,
  );
  const isPlain = mode === "lexical" || mode === "vector";
  const reranker = isPlain ? undefined : dependencies.reranker();
  const absence = isPlain ? `mode ${mode} is searched for itself` : dependencies.rerankerDetail();
  const { ranked, ...reranked } = await rerank({ reader: dependencies.reader, reranker }, query, fused, absence);
  const options = {
    limit,
    dates: askedDates(query, request.now),
    now: request.now ?? `${new Date().toISOString().slice(0, 19)}Z`,
  };
  const hits = chooseHits(dependencies.reader, ranked, options).map((chosen) => ({
    ...toHit(chosen.drawer, chosen.ranked, near !== undefined),
    ...notesOn(dependencies, chosen, rankMode, request),
  }));
  const asked = mode !== "lexical";
  return {
    hits:
      near === undefined
        ? hits
        : labelClosets(dependencies.reader, hits, { ...near, rows: ranked.map((hit) => hit.row), filter }),
    candidates: rows.length,
    vectorDisabledReason: asked && near === undefined ? (failure ?? dependencies.embedderDetail()) : undefined,
    reranked,
    phrases: quoted.length > 0 ? { quoted, found: phraseRows.length > 0 } : undefined,
  };
}

async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the vector search did not answer in time")), timeoutMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Fields beyond upstream's, there only where they say something. */
function notesOn(
  { reader }: SearchDependencies,
  { drawer, ranked, adjustments, stale, duplicates }: Chosen,
  mode: RankMode,
  { explain, neighbors }: SearchRequest,
): Record<string, unknown> {
  return {
    ...(isWeakMatch(ranked) && { weak: true }),
    ...(stale.length > 0 && { outdated: stale.map(({ fact, ended }) => ({ fact, ended })) }),
    ...(duplicates.length > 0 && { near_duplicates: duplicates }),
    ...(neighbors > 0 && { neighbors: neighborsOf(reader, drawer, neighbors) }),
    ...(explain && { explain: explainScore(ranked, adjustments, mode) }),
  };
}

function toHit({ id, wing, room, text, metadata }: Drawer, { score, lexical, cosine }: Ranked, vectors: boolean): Hit {
  const sourceFile = typeof metadata["source_file"] === "string" ? metadata["source_file"] : "";
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
    matched_via: vectors ? "drawer" : "bm25_sqlite",
    bm25_score: round(lexical, 3),
    // The id that the whole text was given; a slice is told apart by its own.
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
