/** Closets: pointers to the drawers of a source, and how they are written and read. */
import type { Metadata, PlaceFilter } from "./drawer.ts";

/** One closet: pointers to the drawers of its source_file, as the public palace shows them (palace.md 4.8). */
export type NewCloset = { id: string; text: string; metadata: Metadata };

/**
 * The closets' part of a write transaction; an empty name is no source. Those of a source vanish with its last drawer by
 * themselves. Concurrency and errors: as LedgerTx.
 */
export interface ClosetTx {
  count(sourceFile: string): number;
  /** Some of them were written by a language model (upstream's closet_llm): nobody here could make them again. */
  isModelMade(sourceFile: string): boolean;
  /** The source has these and no others afterwards. One whose text stays keeps its vector. */
  replace(sourceFile: string, closets: readonly NewCloset[]): void;
  /** One beside those of its source, which its metadata names. */
  put(closet: NewCloset): void;
  /** Returns how many there were. */
  remove(sourceFile: string): number;
}

export type SearchCloset = { sourceFile: string; text: string; vector: Float32Array };

export interface ClosetReader {
  /** Those of the drawers' sources that have their vector, in the order they were filed. */
  ofRows(rows: readonly number[], filter: PlaceFilter): SearchCloset[];
  /** Where these drawers stand in their source, by the number they bear, and how many it has; none without a source. */
  positions(ids: readonly string[]): Map<string, { index: number; total: number }>;
  /** Files that closets can be made for; reads every drawer once. */
  minedSources(wing: string | undefined): string[];
  count(): number;
}
