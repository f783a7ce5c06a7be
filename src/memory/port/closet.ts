/** Closets: pointers to the drawers of a source, and their reads and writes. */
import type { Metadata, PlaceFilter } from "./drawer.ts";

/** One closet: pointers to the drawers of its source_file, as the public palace shows them (palace.md 4.8). */
export type NewCloset = { id: string; text: string; metadata: Metadata };

/**
 * The closets' part of a write transaction. An empty name means no source. A source's closets are deleted with its last drawer. Concurrency
 * and errors: as LedgerTx.
 */
export interface ClosetTx {
  count(sourceFile: string): number;
  textOf(id: string): string | undefined;
  /** Returns true if a language model wrote some of the source's closets (upstream's closet_llm). They cannot be rebuilt here. */
  isModelMade(sourceFile: string): boolean;
  /** Replaces the source's closets by `closets`. A closet with the same text keeps its vector. */
  replace(sourceFile: string, closets: readonly NewCloset[]): void;
  /** Adds a closet to the source that its metadata names. */
  put(closet: NewCloset): void;
  /** Removes the source's closets. Returns their number. */
  remove(sourceFile: string): number;
}

/** A closet that a search may show. Shape: `vector` is L2-normalised. */
export type SearchCloset = { sourceFile: string; text: string; vector: Float32Array };

/** Reads closets. Concurrency: any time; each call sees only committed state. */
export interface ClosetReader {
  /** Returns, in filing order, those closets of the drawers' sources that have a vector. */
  ofRows(rows: readonly number[], filter: PlaceFilter): SearchCloset[];
  /**
   * Returns each drawer's position in its source, by its chunk number, and the source's number of drawers. The map has no entry for a
   * drawer without a source.
   */
  positions(ids: readonly string[]): Map<string, { index: number; total: number }>;
  /** Returns the files for which closets can be made. Reads every drawer once. */
  minedSources(wing: string | undefined): string[];
  count(): number;
}
