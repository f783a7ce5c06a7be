/**
 * Entry of the erase thread, which rewrites files so that the broker need not wait. Started by erasure.ts for that
 * time.
 */
import { workerData } from "node:worker_threads";
import { armFault } from "../../base/fault-point.ts";
import { serveThread } from "../../base/thread.ts";
import { eraseGraph, erasePalace } from "./palace-bytes.ts";

export type EraseMethods = { palace: typeof erasePalace; graph: typeof eraseGraph };

armFault((workerData as { fault: string | undefined }).fault);

await serveThread<EraseMethods>(() => ({ palace: erasePalace, graph: eraseGraph }));
