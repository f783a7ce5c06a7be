/** Recalls and fences the three drawers that match a prompt best, for `palace hook` if MEMPALACE_RECALL is on. */
import type { Client } from "../wire/client/client.ts";
import { searchedPart } from "../protocol/searched-part.ts";
import { isRecord } from "../base/is-record.ts";
import { fence } from "./fence.ts";

const HITS = 3;
const HIT_MAX_CHARS = 900;

/** Returns the fenced hits for a prompt; empty if no drawer fits, as for "ok thanks". Errors: the client's errors. */
export async function recallText(client: Client, prompt: string, maxBytes: number): Promise<string> {
  const query = searchedPart(prompt.trim());
  const answer = await client.callTool("mempalace_search", { query, limit: HITS });
  const found: unknown = isRecord(answer) ? answer["results"] : undefined;
  const hits = Array.isArray(found) ? (found as unknown[]).filter(isRecord).filter(({ weak }) => weak !== true) : [];
  const word = (value: unknown): string => (typeof value === "string" ? value : "");
  const parts = hits.map(
    (hit) => `[${word(hit["wing"])}/${word(hit["room"])}]\n${word(hit["text"]).slice(0, HIT_MAX_CHARS)}`,
  );
  return fence(parts.join("\n\n"), maxBytes);
}
