/** Closets: pointers to the drawers of a source, and their reads and writes. */
import type { Metadata, PlaceFilter } from "./drawer.ts";

/** One closet: pointers to the drawers of its source_file, as the public palace shows them (palace.md 4.8). */
export type NewCloset = { id: string; text: string; metadata: Metadata };

/**
 * The closets' part of a write transaction; an empty name means no source. A source's closets disappear with its last
 * drawer. Concurrency and errors: as LedgerTx.
 */
export interface ClosetTx {
  count(sourceFile: string): number;
  textOf(id: string): string | undefined;
  /** Returns true when a language model wrote some of them (upstream's closet_llm): they could not be rebuilt here. */
  isModelMade(sourceFile: string): boolean;
  /** Replaces the source's closets by these. A closet with the same text keeps its vector. */
  replace(sourceFile: string, closets: readonly NewCloset[]): void;
  /** Adds a closet to those of its source, which its metadata names. */
  put(closet: NewCloset): void;
  /** Returns how many there were. */
  remove(sourceFile: string): number;
}

/** A closet that a search may show. Shape: `vector` is L2-normalised. */
export type SearchCloset = { sourceFile: string; text: string; vector: Float32Array };

/** Reads closets. Concurrency: any time; each call sees what is committed. */
export interface ClosetReader {
  /** Closets of the drawers' sources that have their vector, in filing order. */
  ofRows(rows: readonly number[], filter: PlaceFilter): SearchCloset[];
  /**
   * Returns each drawer's position in its source, by its chunk number, and the source's number of drawers; no entry for a drawer without a
   * source.
   */
  positions(ids: readonly string[]): Map<string, { index: number; total: number }>;
  /** Returns files that closets can be made for; reads every drawer once. */
  minedSources(wing: string | undefined): string[];
  count(): number;
}
