/** The parts that a search uses: words, vectors, the model and the cross-encoder. Implemented in index/. */
import type { DrawerFilter } from "./drawer.ts";
import type { Changes } from "./ledger.ts";

/** A row and its score; lexical scores are BM25-like, ≥ 0, higher is better; cosines are −1…1. */
export type Scored = { row: number; score: number };

/**
 * The unweighted parts of a row's BM25: the words in the drawer, pairs of successive query words that also follow each other in it, the
 * words in its whole source. `coverage`: share of the query's words that the drawer or its names hold, by their rarity, 0…1. `identifiers`:
 * share of the query's identifiers that it or the path of its source's folder holds letter by letter, 0…1; 0 for a query without one.
 * `names`: share of the query's words that its source's path, its wing and its room hold, by their rarity in the texts and among the names,
 * 0…1; 0 for a small share. `file`: 1 if the query names its source's file, less if many files have that name, else 0. `meaning`: cosine of
 * its static vector with the query's, −1…1, NaN while it has none. `isAside`: its file is a changelog, a licence or the like, and the query
 * asks for something else.
 */
export type LexicalParts = {
  drawer: number;
  pairs: number;
  source: number;
  coverage: number;
  identifiers: number;
  names: number;
  file: number;
  meaning: number;
  isAside?: true;
};

/** A row with its score and the parts of it. */
export type LexicalCandidate = Scored & { parts: LexicalParts };

/**
 * Candidates by words per candidate by static vectors. Scoring candidates is the larger part of a search, and more candidates by static
 * vectors change no answer (docs/lab/search-recipe.md).
 */
export const NEAR_PART = 4;

/** BM25 and static vectors over the drawers. Concurrency: runs on its own thread and never waits for a write. */
export interface LexicalIndex {
  /**
   * Returns the best `limit` rows by BM25 that pass the filter, best first, with all scores. For a source or time window with at most
   * `limit` rows, returns all.
   */
  candidates(query: string, filter: DrawerFilter, limit: number): Promise<LexicalCandidate[]>;
  /**
   * Returns, in no order and with all scores: the `limit` best by BM25, drawers whose names the question contains and, unless `isLexical`,
   * the `limit / NEAR_PART` nearest by static vector.
   */
  retrieve(
    query: string,
    filter: DrawerFilter,
    limit: number,
    isLexical: boolean,
  ): Promise<Omit<LexicalCandidate, "score">[]>;
  /** Returns rows that contain every phrase word for word, without stemming, best BM25 first. */
  phraseRows(phrases: readonly string[], filter: DrawerFilter, limit: number): Promise<number[]>;
  /** Returns the parts of each given row's full lexical score L (bench recipe 4), in the order given. */
  score(query: string, rows: readonly number[]): Promise<LexicalParts[]>;
  /** Returns the cosine of each text's static vector with the query's, in the order given. */
  alike(query: string, texts: readonly string[]): Promise<number[]>;
}

/** Exact nearest neighbours over the stored vectors. */
export interface VectorIndex {
  /**
   * Returns rows that include the nearest `limit`, probable ones first. Faster than `nearest`, for a caller that calls `similarity` anyway.
   */
  around(vector: Float32Array, filter: DrawerFilter, limit: number): Promise<number[]>;
  /** Returns cosines, best first. `vector` is Float32Array[dims], L2-normalised. */
  nearest(vector: Float32Array, filter: DrawerFilter, limit: number): Promise<Scored[]>;
  /** Returns the cosine of each given row, NaN where it has no vector yet. Order as given. */
  similarity(vector: Float32Array, rows: readonly number[]): Promise<number[]>;
  /** Applies what a commit changed; later searches see it. */
  refresh(changes: Pick<Changes, "written" | "removed">): Promise<void>;
}

/** The embedding model. `id` differs for models whose vectors cannot be compared; `dimensions`: numbers of a vector. */
export type ModelIdentity = { id: string; dimensions: number };

/** A number for each text, higher answers the question better. Errors: STORE_UNAVAILABLE, also when it takes too long. */
export interface Reranker {
  rerank(question: string, texts: readonly string[], timeoutMs: number): Promise<number[]>;
}

/** Texts to vectors. */
export interface Embedder {
  readonly identity: ModelIdentity;
  /** Shape: one Float32Array[dimensions], L2-normalised, per text, order as given. */
  embed(texts: readonly string[]): Promise<Float32Array[]>;
  close(): Promise<void>;
}
