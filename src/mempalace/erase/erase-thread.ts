/** Entry of the erase thread, which rewrites files so that the broker's main thread does not wait. */
import { workerData } from "node:worker_threads";
import { armFault } from "../../base/fault-point.ts";
import { serveThread } from "../../base/thread.ts";
import { eraseGraph, erasePalace, findOlder } from "./palace-bytes.ts";

export type EraseMethods = { palace: typeof erasePalace; older: typeof findOlder; graph: typeof eraseGraph };

armFault((workerData as { fault: string | undefined }).fault);

await serveThread<EraseMethods>(() => ({ palace: erasePalace, older: findOlder, graph: eraseGraph }));
