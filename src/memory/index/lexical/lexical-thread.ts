/** Worker thread that answers the lexical half of a search from its own read connection to the ledger. Started by lexical-index.ts. */
import { workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import { serveThread } from "../../../base/thread.ts";
import type { DrawerFilter } from "../../port/drawer.ts";
import type { LexicalCandidate, LexicalParts } from "../../port/search.ts";
import { LexicalSearch } from "./lexical-search.ts";

export type LexicalThreadData = { ledgerFile: string };
export type LexicalMethods = {
  candidates(query: string, filter: DrawerFilter, limit: number): LexicalCandidate[];
  retrieve(query: string, filter: DrawerFilter, limit: number, isLexical: boolean): Omit<LexicalCandidate, "score">[];
  phraseRows(phrases: readonly string[], filter: DrawerFilter, limit: number): number[];
  score(query: string, rows: readonly number[]): LexicalParts[];
  alike(query: string, texts: readonly string[]): number[];
};

await serveThread<LexicalMethods>(() => {
  const { ledgerFile } = workerData as LexicalThreadData;
  const search = new LexicalSearch(new Database(ledgerFile, { readonly: true, fileMustExist: true }));
  return {
    candidates: (query, filter, limit) => search.candidates(query, filter, limit),
    retrieve: (query, filter, limit, isLexical) => search.retrieve(query, filter, limit, isLexical),
    phraseRows: (phrases, filter, limit) => search.phraseRows(phrases, filter, limit),
    score: (query, rows) => search.score(query, rows),
    alike: (query, texts) => search.alike(query, texts),
  };
});
