/** Interfaces of the indexes, the embedding model and the cross-encoder that a search uses. */
import type { DrawerFilter } from "./drawer.ts";
import type { Changes } from "./ledger.ts";

/** A row and its score: BM25-like (≥ 0, higher is better) for words, −1…1 for cosines. */
export type Scored = { row: number; score: number };

/** Parts of a row's lexical score. `drawer` (BM25 of the drawer's words), `pairs` and `source` have no weights applied yet. */
export type LexicalParts = {
  drawer: number;
  /** BM25 of pairs of neighbouring query words that are neighbours in the drawer, too. */
  pairs: number;
  /** BM25 of the words in the drawer's whole source. */
  source: number;
  /** Share of the query's words that the drawer, or its path, wing or room, contains, 0…1. Rare words count more. */
  coverage: number;
  /** Share of the query's identifiers that the drawer or its source's folder contains exactly, 0…1. 0 for a query without identifiers. */
  identifiers: number;
  /** Share of the query's words that the source's path, wing or room contains, 0…1. Rare words count more; a small share counts as 0. */
  names: number;
  /** 1 if the query names the source's file, less if many files have that name, 0 if it does not. */
  file: number;
  /** Cosine of the drawer's static vector with the query's, −1…1; NaN if the drawer has no static vector. */
  meaning: number;
  /** True for a changelog, licence, lockfile or generated file, unless the query asks for one. */
  isAside?: true;
};

/** Parts for a drawer that was deleted during the search. */
export const NO_PARTS: LexicalParts = {
  ...{ drawer: 0, pairs: 0, source: 0, coverage: 0, identifiers: 0, names: 0, file: 0 },
  meaning: Number.NaN,
};

/** A row, its score and the parts of the score. */
export type LexicalCandidate = Scored & { parts: LexicalParts };

/** Number of candidates by words for each candidate by vector. More candidates by vector change no answer (docs/lab/search-recipe.md). */
export const NEAR_PART = 4;

/** BM25 and static vectors over the drawers. Concurrency: runs on its own thread and never waits for a write. */
export interface LexicalIndex {
  /** Returns the best `limit` rows by BM25, best first. For a source or time window with at most `limit` rows, returns all its rows. */
  candidates(query: string, filter: DrawerFilter, limit: number): Promise<LexicalCandidate[]>;
  /**
   * Returns candidates without an order: the `limit` best rows by BM25, drawers whose names the question contains and, unless `isLexical`,
   * the `limit / NEAR_PART` nearest rows by static vector.
   */
  retrieve(
    query: string,
    filter: DrawerFilter,
    limit: number,
    isLexical: boolean,
  ): Promise<Omit<LexicalCandidate, "score">[]>;
  /** Returns rows that contain every phrase word for word, best BM25 first. */
  phraseRows(phrases: readonly string[], filter: DrawerFilter, limit: number): Promise<number[]>;
  /** Returns the parts of each row's score, in the order given (docs/lab/search-recipe.md, the recipe, item 4). */
  score(query: string, rows: readonly number[]): Promise<LexicalParts[]>;
  /** Returns the cosine of each text's static vector with the query's, in the order given. */
  alike(query: string, texts: readonly string[]): Promise<number[]>;
}

/** Exact nearest neighbours over the stored vectors. */
export interface VectorIndex {
  /** Returns the nearest `limit` rows and other rows, in no order. Faster than `nearest` if you call `similarity` for these rows anyway. */
  around(vector: Float32Array, filter: DrawerFilter, limit: number): Promise<number[]>;
  /** Returns the `limit` rows with the highest cosines to `vector` (L2-normalised), best first. */
  nearest(vector: Float32Array, filter: DrawerFilter, limit: number): Promise<Scored[]>;
  /** Returns the cosine of each row's vector with `vector`, in the order given; NaN for a row without a vector. */
  similarity(vector: Float32Array, rows: readonly number[]): Promise<number[]>;
  /** Makes the changes of a commit visible to later searches. */
  refresh(changes: Pick<Changes, "written" | "removed">): Promise<void>;
}

/** The embedding model. Vectors of models with different `id` cannot be compared. `dimensions`: length of a vector. */
export type ModelIdentity = { id: string; dimensions: number };

/** Returns a number for each text; a higher number is a better answer. Errors: STORE_UNAVAILABLE, also after a time-out. */
export interface Reranker {
  rerank(question: string, texts: readonly string[], timeoutMs: number): Promise<number[]>;
}

/** Turns texts into vectors. */
export interface Embedder {
  readonly identity: ModelIdentity;
  /** Returns one vector per text, in the order given. Shape: Float32Array[dimensions], L2-normalised. */
  embed(texts: readonly string[]): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** Returns the dot product, which is the cosine for L2-normalised vectors. */
export function dotProduct(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
