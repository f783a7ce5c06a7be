/**
 * Exact nearest neighbours over the ledger's vectors, answered by a thread of its own. Opened by the composition root;
 * the engine sees the VectorIndex port.
 */
import { startThread, threadFile } from "../../platform/thread.ts";
import type { VectorIndex } from "../../port/search.ts";
import { PalaceError } from "../../protocol/errors.ts";
import type { ScanMethods, ScanThreadData } from "./scan-thread.ts";
import { DIMENSIONS } from "./scan-wasm.ts";

export type LocalVectorIndex = VectorIndex & { close(): Promise<void> };

/**
 * Holds the ledger's vectors as of some moment of the opening; later commits must come through `refresh`, so open it
 * before the first write is accepted. Errors: STORE_CORRUPT, PALACE_GONE, STORE_UNAVAILABLE; STORE_MODEL_MISMATCH when
 * asked with a vector of another length.
 */
export async function openVectorIndex({ ledgerFile }: { ledgerFile: string }): Promise<LocalVectorIndex> {
  const data: ScanThreadData = { ledgerFile };
  const thread = await startThread<ScanMethods>(threadFile(import.meta.url, "scan-thread"), data);
  return {
    async around(vector, filter, limit) {
      checkDimensions(vector);
      return thread.call("around", vector, filter, limit);
    },
    async nearest(vector, filter, limit) {
      checkDimensions(vector);
      return thread.call("nearest", vector, filter, limit);
    },
    async similarity(vector, rows) {
      checkDimensions(vector);
      return thread.call("similarity", vector, rows);
    },
    refresh: (changes) => thread.call("refresh", changes),
    close: () => thread.close(),
  };
}

function checkDimensions(vector: Float32Array): void {
  if (vector.length === DIMENSIONS) return;
  throw new PalaceError(
    "STORE_MODEL_MISMATCH",
    `the palace holds vectors of ${DIMENSIONS} numbers, the model gave ${vector.length}`,
    "palace doctor",
  );
}
