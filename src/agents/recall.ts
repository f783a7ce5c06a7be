/** Finds the drawers that match a prompt best and quotes them (fence.ts), for `palace hook` if MEMPALACE_RECALL is on. */
import type { Client } from "../wire/client/client.ts";
import { searchedPart } from "../protocol/searched-part.ts";
import { asksNothing } from "../protocol/small-talk.ts";
import { isRecord } from "../base/parse-json.ts";
import { fence } from "./fence.ts";

const HITS = 3;
const HIT_MAX_CHARS = 900;

/** Returns the quoted hits for a prompt; empty for small talk, and if no drawer fits. Errors: the client's errors. */
export async function recallText(client: Client, prompt: string, maxBytes: number): Promise<string> {
  const query = searchedPart(prompt.trim());
  if (asksNothing(query)) return "";
  const answer = await client.callTool("mempalace_search", { query, limit: HITS });
  // If a hit has no similarity, the search used only words. Then a query of words such as `who` and `was` asks nothing.
  const isAsked = (hit: Record<string, unknown>): boolean => !asksNothing(query, typeof hit["similarity"] !== "number");
  const found: unknown = isRecord(answer) ? answer["results"] : undefined;
  const hits = Array.isArray(found)
    ? (found as unknown[]).filter(isRecord).filter((hit) => hit["weak"] !== true && isAsked(hit))
    : [];
  const word = (value: unknown): string => (typeof value === "string" ? value : "");
  const parts = hits.map(
    (hit) => `[${word(hit["wing"])}/${word(hit["room"])}]\n${word(hit["text"]).slice(0, HIT_MAX_CHARS)}`,
  );
  return fence(parts.join("\n\n"), maxBytes);
}
