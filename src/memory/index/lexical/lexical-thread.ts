/** Worker thread that answers the lexical part of a search from its own read connection to the ledger. */
import { workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import { serveThread } from "../../../base/thread.ts";
import type { LexicalIndex } from "../../port/search.ts";
import { LexicalSearch } from "./lexical-search.ts";

export type LexicalMethods = Pick<LexicalSearch, keyof LexicalIndex>;

await serveThread<LexicalMethods>(
  () => new LexicalSearch(new Database(workerData as string, { readonly: true, fileMustExist: true })),
);
