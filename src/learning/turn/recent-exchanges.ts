/** Lists the last exchanges of a compacted conversation, which the agent no longer sees (outcome-memory.md 6.8, 7.6). */
import { quoted } from "./injection.ts";
import { type ListContext, newest } from "../memory/list-memories.ts";
import type { Collection } from "../memory/memory.ts";
import { recency } from "../memory/described.ts";
import { head } from "./scoring-prompt.ts";

const RECENT_MAX = 4;
const EXCHANGE_CHARACTERS = 200;
const ROOMS = ["working", "history", "patterns"] as const satisfies readonly Collection[];

/** Returns a heading and one line per exchange, newest first; empty without exchanges. `clean` masks the secrets of a whole text. */
export function recentExchanges(
  context: ListContext,
  conversation: string,
  clean: (text: string) => string,
  nowMs: number,
): string[] {
  const said = ROOMS.flatMap((room) => newest(context, room)).filter(
    ({ metadata }) => metadata["turn_type"] === "exchange" && metadata["conversation_id"] === conversation,
  );
  const last = said.sort((one, other) => other.madeMs - one.madeMs).slice(0, RECENT_MAX);
  if (last.length === 0) return [];
  const lines = last.map(({ text, madeMs }, at) => {
    const words = quoted(clean(text)).replaceAll(/\s+/g, " ");
    return `${at + 1}. [${recency(madeMs, nowMs)}] ${head(words, EXCHANGE_CHARACTERS)}`;
  });
  return [`RECENT EXCHANGES (last ${last.length}):`, ...lines];
}
