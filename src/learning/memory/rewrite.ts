/** Replaces a memory's text and keeps its standing (outcome-memory.md 4.13). */
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryTx } from "../../memory/port/memory.ts";
import { asText, validContent } from "../../memory/text/validate.ts";
import { findShown, isoTime, toMemory } from "./as-drawer.ts";

/** Returns `id: null` if the collection does not have the memory. */
export function rewriteMemory(tx: MemoryTx, { params, atMs }: WriteCall): { id: string | null; length: number } {
  const text = validContent(params["new_content"], "new_content");
  const drawer = findShown(tx, asText(params["id"] ?? ""));
  const memory = drawer && toMemory(drawer, undefined);
  if (memory === undefined || memory.collection !== params["collection"]) return { id: null, length: 0 };
  const fields = { summarized_at: isoTime(atMs), original_length: memory.text.length };
  tx.updateDrawer(memory.drawerId, { text, metadata: { ...memory.metadata, ...fields } });
  return { id: memory.id, length: text.length };
}
