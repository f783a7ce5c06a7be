/** Finds exact nearest neighbours among the ledger's vectors, on a thread of its own. */
import { lazyThread, type Thread, threadFile } from "../../../base/thread.ts";
import type { Changes } from "../../port/ledger.ts";
import type { VectorIndex } from "../../port/search.ts";
import { PalaceError } from "../../../base/errors.ts";
import type { ScanMethods } from "./scan-thread.ts";
import { DIMENSIONS } from "./scan-wasm.ts";

export type LocalVectorIndex = VectorIndex & { close(): Promise<void> };

/**
 * Opens the vector index. After the first query the caller must pass every commit to `refresh`. A query throws STORE_MODEL_MISMATCH for a
 * vector of the wrong length, STORE_CORRUPT, PALACE_GONE or STORE_UNAVAILABLE.
 */
export function openVectorIndex({ ledgerFile }: { ledgerFile: string }): LocalVectorIndex {
  const thread = lazyThread<ScanMethods>(threadFile(import.meta.url, "scan-thread"), ledgerFile);
  let waiting: { changes: Pick<Changes, "written" | "removed">; sent: Promise<void> } | undefined;
  // Commits that arrive while the thread loads millions of vectors are merged into one change, because the thread accepts only some
  // thousand calls.
  const gather = ({ written, removed }: Pick<Changes, "written" | "removed">): Promise<void> => {
    waiting ??= { changes: { written: [], removed: [] }, sent: thread.start().then(send, forget) };
    const { changes } = waiting;
    waiting.changes = { written: changes.written.concat(written), removed: changes.removed.concat(removed) };
    return waiting.sent;
  };
  const send = async (started: Thread<ScanMethods>): Promise<void> => {
    const changes = waiting?.changes;
    waiting = undefined;
    if (changes !== undefined) await started.call("refresh", changes);
  };
  /** Drops the waiting commits. The thread reads them from the ledger at its next start. */
  const forget = (): void => void (waiting = undefined);
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
    async refresh(changes) {
      if (thread.isStarted()) await gather(changes);
    },
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
