/** Closets (pointers to the drawers of a source), and the interfaces that read and write them. */
import type { Metadata, PlaceFilter } from "./drawer.ts";

/** A closet in the form that it has in the public palace (palace.md 4.8). */
export type NewCloset = { id: string; text: string; metadata: Metadata };

/** Closets inside a write transaction. An empty `sourceFile` matches no closet. Concurrency and errors: as LedgerTx. */
export interface ClosetTx {
  count(sourceFile: string): number;
  textOf(id: string): string | undefined;
  /** Returns true if a language model wrote one of the source's closets (upstream's closet_llm). We cannot rebuild these. */
  isModelMade(sourceFile: string): boolean;
  /** Replaces all closets of the source. A closet with the same id and text keeps its vector. */
  replace(sourceFile: string, closets: readonly NewCloset[]): void;
  /** Adds or replaces one closet of the source that the closet's metadata names. */
  put(closet: NewCloset): void;
  /** Removes the source's closets. Returns their number. */
  remove(sourceFile: string): number;
}

/** A closet with its vector, which is L2-normalised. */
export type SearchCloset = { sourceFile: string; text: string; vector: Float32Array };

/** Reads closets. Concurrency: any time; each call sees only committed state. */
export interface ClosetReader {
  /** Returns the closets of these drawers' sources, in filing order. Leaves out closets without a vector. */
  ofRows(rows: readonly number[], filter: PlaceFilter): SearchCloset[];
  /** Returns each drawer's `chunk_index` and its source's number of drawers. Leaves out drawers without a source or an index. */
  positions(ids: readonly string[]): Map<string, { index: number; total: number }>;
  /** Returns the files for which closets can be made. Reads the metadata of every drawer. */
  minedSources(wing: string | undefined): string[];
  count(): number;
}
