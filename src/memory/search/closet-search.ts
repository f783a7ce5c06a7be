/** Adds upstream's closet fields (palace.md 6.1) to hits. Keeps their order, because ranking by closets finds fewer right drawers. */
import { orElse } from "../../base/or-else.ts";
import type { PlaceFilter } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import { dotProduct } from "../port/search.ts";
import { codePointLength, head, round } from "../text/text.ts";

/** Values of `closet_boost` by the rank of a source's nearest closet among the compared closets, nearest first. */
const BOOSTS = [0.4, 0.25, 0.15, 0.08, 0.04];
/** Maximum cosine distance between a closet and the question. A farther closet adds no fields. */
const DISTANCE_MAX = 1.5;
const PREVIEW_MAX = 200;
const TEXT_MAX = 10_000;
/** Maximum number of candidates whose closets are read, best first. This reading is the main cost. */
const ROWS_MAX = 40;

export type ClosetQuestion = {
  vector: Float32Array;
  /** Rows of the search, best first. Only the closets of their sources are compared, so a large palace takes no longer. */
  rows: readonly number[];
  filter: PlaceFilter;
};

export type Hit = Record<string, unknown> & { drawer_id: string; text: string };

/** Adds the closet fields to the hits. If the closets cannot be read, the hits stay unchanged. */
export function labelClosets(
  reader: Pick<LedgerReader, "closets">,
  hits: readonly Hit[],
  asked: ClosetQuestion,
): Hit[] {
  return orElse(() => labelled(reader, hits, asked), [...hits]);
}

function labelled(reader: Pick<LedgerReader, "closets">, hits: readonly Hit[], asked: ClosetQuestion): Hit[] {
  const boosts = boostsBySource(reader, asked);
  const boosted = hits.filter((hit) => boosts.has(String(hit["source_path"])));
  if (boosted.length === 0) return [...hits];
  const positions = reader.closets.positions(boosted.map(rowId));
  return hits.map((hit) => {
    const found = boosts.get(String(hit["source_path"]));
    if (found === undefined) return hit;
    const position = positions.get(rowId(hit));
    const distance = hit["distance"];
    return {
      ...hit,
      text: position === undefined ? hit.text : bounded(hit.text, position.total),
      ...(typeof distance === "number" && {
        effective_distance: round(Math.min(2, Math.max(0, distance - found.boost)), 4),
      }),
      closet_boost: found.boost,
      matched_via: "drawer+closet",
      closet_preview: found.preview,
      ...(position !== undefined &&
        position.total > 1 && { drawer_index: position.index, total_drawers: position.total }),
    };
  });
}

/** Returns the id of the slice that was found; `drawer_id` is the id of the whole drawer. */
function rowId(hit: Hit): string {
  return typeof hit["chunk_id"] === "string" ? hit["chunk_id"] : hit.drawer_id;
}

function boostsBySource(
  { closets }: Pick<LedgerReader, "closets">,
  { vector, rows, filter }: ClosetQuestion,
): Map<string, { boost: number; preview: string }> {
  const boosts = new Map<string, { boost: number; preview: string }>();
  closets
    .ofRows(rows.slice(0, ROWS_MAX), filter)
    .filter((closet) => closet.vector.length === vector.length)
    .map(({ sourceFile, text, vector: other }) => ({ sourceFile, text, distance: 1 - dotProduct(vector, other) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, BOOSTS.length)
    .forEach(({ sourceFile, text, distance }, rank) => {
      if (distance > DISTANCE_MAX || boosts.has(sourceFile)) return;
      boosts.set(sourceFile, { boost: BOOSTS[rank] ?? 0, preview: head(text, PREVIEW_MAX) });
    });
  return boosts;
}

function bounded(text: string, total: number): string {
  if (codePointLength(text) <= TEXT_MAX) return text;
  return `${head(text, TEXT_MAX)}\n\n[...truncated. ${total} total drawers. Use mempalace_get_drawer for full content.]`;
}
