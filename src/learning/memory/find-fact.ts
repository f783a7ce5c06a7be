/** Finds the fact to which an agent's text refers, before a write changes that fact (outcome-memory.md 2.11). */
import { asText } from "../../memory/text/validate.ts";
import { findMemories, type FindContext } from "../search/find-memories.ts";
import { facts } from "./list-memories.ts";
import { meantFact, NEAR_ENOUGH, NEAREST_ASKED } from "./fact-rules.ts";

/** Returns the drawer's id; undefined if no fact is equal or near enough. */
export async function findFact(
  context: FindContext,
  given: unknown,
  purpose: keyof typeof NEAR_ENOUGH,
): Promise<string | undefined> {
  const wanted = asText(given ?? "");
  const exact = facts(context).find(({ id, text }) => id === wanted || text === wanted)?.drawerId;
  if (exact !== undefined) return exact;
  const request = { query: wanted, collections: ["memory_bank"] as const, limit: NEAREST_ASKED, nowMs: Date.now() };
  const near = (await findMemories(context, request)).sort((a, b) => b.cosine - a.cosine);
  return meantFact(
    wanted,
    near.map(({ drawerId, text, cosine }) => ({ id: drawerId, text, cosine })),
    NEAR_ENOUGH[purpose],
  );
}
