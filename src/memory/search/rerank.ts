/** Reorders the first hits by a cross-encoder, which is too slow for more hits because it reads question and drawer together. */
import { traced } from "../../base/trace.ts";
import type { LedgerReader } from "../port/ledger.ts";
import type { Reranker } from "../port/search.ts";
import type { Ranked } from "./fusion.ts";

export const RERANKED_MAX = 20;
/** Maximum time for reranking, ms; after it the hits keep their order. A slow machine reads twenty drawers in about a second. */
const RERANK_DEADLINE_MS = 1_500;

export type Reranked = { ranked: Ranked[]; state: "used" | "off" | "failed"; detail: string };

/** Returns the hits in their new order. The best hit gets the highest old score, and so on: later adjustments see the same scores. */
export async function rerank(
  { reader, reranker }: { reader: Pick<LedgerReader, "drawersByRow">; reranker: Reranker | undefined },
  query: string,
  ranked: readonly Ranked[],
  absence: string,
): Promise<Reranked> {
  if (reranker === undefined) return { ranked: [...ranked], state: "off", detail: absence };
  const texts = new Map(
    reader.drawersByRow(ranked.slice(0, RERANKED_MAX).map(({ row }) => row)).map(({ row, text }) => [row, text]),
  );
  const first = ranked.slice(0, RERANKED_MAX).filter(({ row }) => texts.has(row));
  const rest = ranked.slice(RERANKED_MAX);
  try {
    const read = first.map(({ row }) => texts.get(row) ?? "");
    const logits = await traced("palace.search.rerank", () => reranker.rerank(query, read, RERANK_DEADLINE_MS));
    const judged = first
      .map((one, at) => ({ ...one, rerank: { logit: logits[at] ?? Number.NaN, place: at + 1, score: one.score } }))
      .sort((a, b) => b.rerank.logit - a.rerank.logit || a.rerank.place - b.rerank.place)
      .map((one, at) => ({ ...one, score: first[at]?.score ?? one.score }));
    return { ranked: [...judged, ...rest], state: "used", detail: `the first ${judged.length} hits` };
  } catch (error) {
    return { ranked: [...ranked], state: "failed", detail: error instanceof Error ? error.message : String(error) };
  }
}
