/** Compares texts by meaning, for check_duplicate and before a checkpoint is filed (palace.md 2.10). */
import { PalaceError } from "../../base/errors.ts";
import { CHECKPOINT_ITEMS_MAX } from "../../protocol/limits.ts";
import { isItem, type Likeness, type Match, MATCHES_MAX } from "../drawer/checkpoint.ts";
import type { RowSize } from "../drawer/drawer.ts";
import { preview } from "../drawer/logical.ts";
import { dotProduct } from "../port/search.ts";
import { round, slices, wellFormed } from "../text/text.ts";
import type { SearchDependencies } from "./search.ts";

const THRESHOLD = 0.9;
const SETTLE_MAX_MS = 1_000;

/** The parts of an open palace that are needed to compare texts. */
export type CompareDependencies = SearchDependencies &
  RowSize & {
    /** Resolves when the drawers filed so far have their vectors, or after the given time, ms. */
    settled: (timeoutMs: number) => Promise<void>;
  };

export async function checkDuplicate(context: CompareDependencies, values: Record<string, unknown>): Promise<unknown> {
  if (typeof values["content"] !== "string") return { error: "Duplicate check failed" };
  const content = wellFormed(values["content"]);
  const embedder = context.embedder();
  if (embedder === undefined) return withoutVectors(context.embedderDetail());
  await context.settled(SETTLE_MAX_MS);
  try {
    const [vector] = await embedder.embed([content]);
    const near = vector === undefined ? [] : await nearestDrawers(context, vector);
    const matches = near.filter(({ similarity }) => similarity >= thresholdOf(values["threshold"]));
    return { is_duplicate: matches.length > 0, matches };
  } catch (error) {
    if (error instanceof PalaceError && error.code === "STORE_UNAVAILABLE") return withoutVectors(error.message);
    throw error;
  }
}

function withoutVectors(reason: string): Record<string, unknown> {
  return {
    is_duplicate: false,
    matches: [],
    vector_disabled: true,
    vector_disabled_reason: reason,
    hint: "Without vectors only search can tell: look for a distinctive phrase of the text",
  };
}

/** Returns each item's similar drawers and similar earlier items, by the item's index; undefined without a model or a valid list. */
export async function compareItems(
  context: CompareDependencies,
  params: Record<string, unknown>,
): Promise<Record<number, Likeness> | undefined> {
  const embedder = context.embedder();
  if (embedder === undefined || !Array.isArray(params["items"])) return undefined;
  // The write refuses a checkpoint with so many items, so a comparison would be useless.
  if (params["items"].length > CHECKPOINT_ITEMS_MAX) return undefined;
  await context.settled(SETTLE_MAX_MS);
  const threshold = thresholdOf(params["dedup_threshold"]);
  const items = (params["items"] as unknown[]).flatMap((item, index) => (isItem(item) ? [{ index, ...item }] : []));
  const vectors = await embedder.embed(items.map(({ content }) => content));
  const likeness: Record<number, Likeness> = {};
  const before: { item: number; slice: number; vector: Float32Array }[] = [];
  for (const [at, { index, content }] of items.entries()) {
    const vector = vectors[at];
    if (vector === undefined) continue;
    const stored = await nearestDrawers(context, vector);
    likeness[index] = {
      stored: stored
        .filter(({ similarity }) => similarity >= threshold)
        .map(({ id, similarity }) => ({ id, similarity })),
      earlier: before
        .map(({ item, slice, vector: other }) => ({ item, slice, similarity: similarityOf(vector, other) }))
        .filter(({ similarity }) => similarity >= threshold),
    };
    const parts = slices(content, context.drawerSize);
    const ofParts = parts.length === 1 ? [vector] : await embedder.embed(parts);
    before.push(...ofParts.map((one, slice) => ({ item: index, slice, vector: one })));
  }
  return likeness;
}

async function nearestDrawers({ vectors, reader }: CompareDependencies, vector: Float32Array): Promise<Match[]> {
  const near = await vectors.nearest(vector, {}, MATCHES_MAX);
  const similarity = new Map(near.map(({ row, score }) => [row, round(Math.max(0, score), 3)]));
  return reader.drawersByRow(near.map(({ row }) => row)).map(({ row, id, wing, room, text }) => ({
    id,
    wing,
    room,
    similarity: similarity.get(row) ?? 0,
    content: preview(text),
  }));
}

function thresholdOf(given: unknown): number {
  return typeof given === "number" ? given : THRESHOLD;
}

function similarityOf(a: Float32Array, b: Float32Array): number {
  return round(Math.max(0, dotProduct(a, b)), 3);
}
