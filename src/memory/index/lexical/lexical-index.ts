/** Opens the search by words over the ledger's drawers, on a thread of its own. It needs no model. */
import { lazyThread, threadFile } from "../../../base/thread.ts";
import type { LexicalIndex } from "../../port/search.ts";
import type { LexicalMethods } from "./lexical-thread.ts";

export type LocalLexicalIndex = LexicalIndex & { close(): Promise<void> };

/** Opens the index. The first question starts its thread. Errors of a question: STORE_CORRUPT, PALACE_GONE, STORE_UNAVAILABLE. */
export function openLexicalIndex({ ledgerFile }: { ledgerFile: string }): LocalLexicalIndex {
  const thread = lazyThread<LexicalMethods>(threadFile(import.meta.url, "lexical-thread"), ledgerFile);
  return {
    candidates: (query, filter, limit) => thread.call("candidates", query, filter, limit),
    retrieve: (query, filter, limit, isLexical) => thread.call("retrieve", query, filter, limit, isLexical),
    phraseRows: (phrases, filter, limit) => thread.call("phraseRows", phrases, filter, limit),
    score: (query, rows) => thread.call("score", query, rows),
    alike: (query, texts) => thread.call("alike", query, texts),
    close: () => thread.close(),
  };
}
