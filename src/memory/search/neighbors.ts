/** Reads the slices before and after a hit in its source. */
import type { Drawer } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import { parentOf } from "../drawer/logical.ts";

export const NEIGHBORS_MAX = 5;

type Neighbor = { drawer_id: string; chunk_index: number; text: string };

/** Returns at most `count` neighbours on each side, in the order of the source. Empty for a drawer that is not a slice. */
export function neighborsOf(
  reader: Pick<LedgerReader, "slicesOf" | "slicesOfSource">,
  { id, wing, metadata }: Drawer,
  count: number,
): { before: Neighbor[]; after: Neighbor[] } {
  const { chunk_index: index, source_file: sourceFile } = metadata;
  if (typeof index !== "number") return { before: [], after: [] };
  const [first, last] = [index - count, index + count];
  const parent = parentOf(metadata);
  const around =
    parent !== undefined
      ? reader.slicesOf(parent)
      : typeof sourceFile === "string" && sourceFile !== ""
        ? reader.slicesOfSource({ sourceFile, wing, first, last })
        : [];
  const slices = around
    .filter((drawer) => drawer.id !== id)
    .map((drawer) => ({
      drawer_id: drawer.id,
      chunk_index: Number(drawer.metadata["chunk_index"]),
      text: drawer.text,
    }));
  return {
    before: slices.filter((slice) => slice.chunk_index >= first && slice.chunk_index < index),
    after: slices.filter((slice) => slice.chunk_index > index && slice.chunk_index <= last),
  };
}
