/** Worker thread that scans the static vectors of a large ledger while the lexical thread ranks words. */
import { workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import { serveThread } from "../../../base/thread.ts";
import { StaticCodes, type StaticMethods } from "./static-codes.ts";

await serveThread<StaticMethods>(
  () => new StaticCodes(new Database(workerData as string, { readonly: true, fileMustExist: true })),
);
