/** Converts a memory into fields for programs. Pure. Source: outcome-memory.md 2.12. */
import type { MemoryFields } from "../../protocol/outcome.ts";
import type { Found } from "../search/find-memories.ts";
import { tagsOf } from "./fact-rules.ts";
import { age, pastSigns, recency } from "./described.ts";
import { learnedScore } from "../search/ranking.ts";
import type { Memory } from "./as-drawer.ts";
import { wilson } from "../scoring/wilson.ts";

const MINUTE_MS = 60_000;
const UNUSED = 0.5;

/** `effectiveness`: success rate of the memory's collection in conversations on this topic. */
export function memoryFields(memory: Memory | Found, nowMs: number, effectiveness?: number): MemoryFields {
  const { id, collection, text, metadata, standing, madeMs, weight } = memory;
  const { score, uses, successes, past } = standing;
  const isDated = !Number.isNaN(madeMs);
  return {
    ...{ id, content: text, collection, created_at: metadata["created_at"] ?? null },
    ...{ age: isDated ? age(madeMs, nowMs) : "", score, uses, success_count: successes },
    ...{ last_outcome: past.at(-1)?.outcome ?? "", outcome_history: pastSigns(past) },
    wilson_score: uses === 0 ? UNUSED : Number(wilson(successes, uses).toFixed(4)),
    ...{ learned_score: learnedScore(memory), tags: tagsOf(metadata) },
    metadata: collection === "working" && isDated ? { ...metadata, ...recent(madeMs, nowMs) } : metadata,
    ...(collection === "memory_bank" && weight),
    ...(effectiveness !== undefined && { effectiveness }),
    ...("rank" in memory && found(memory)),
  };
}

function recent(madeMs: number, nowMs: number): { recency: string; minutes_ago: number } {
  const minutes = Math.floor(Math.max(nowMs - madeMs, 0) / MINUTE_MS);
  return { recency: recency(madeMs, nowMs), minutes_ago: minutes };
}

/** Returns the fields that only a search result has. `similarity` is 0…1; `distance` is the squared distance of unit vectors. */
function found({ rank: { similarity, learned, final }, solved, fit }: Found): Record<string, number | true> {
  return {
    ...{ distance: 1 / similarity - 1, similarity, final_rank_score: final, combined_score: final, quality: learned },
    ...(fit !== undefined && { ce_score: fit }),
    ...(solved?.how === "exactly" && { is_known_solution: true, solution_success_count: solved.times }),
    ...(solved?.how === "partly" && { is_partial_solution: true, concept_overlap: solved.shared }),
  };
}
