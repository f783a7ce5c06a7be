/** Entry of the erase thread: files are rewritten here, so that nobody waits for it. Started by erasure.ts for that long. */
import { workerData } from "node:worker_threads";
import { armFault } from "../../platform/fault.ts";
import { serveThread } from "../../platform/thread.ts";
import { eraseGraph, erasePalace } from "./palace-bytes.ts";

export type EraseMethods = { palace: typeof erasePalace; graph: typeof eraseGraph };

armFault((workerData as { fault: string | undefined }).fault);

await serveThread<EraseMethods>(() => ({ palace: erasePalace, graph: eraseGraph }));
