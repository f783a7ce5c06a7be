/** Entry of the coordination log's thread, which reads and writes logstream.sqlite3. Other files import only its types. */
import { workerData } from "node:worker_threads";
import type { EventLookup } from "../../mempalace/events/events.ts";
import { applyToLog, type LogRead, logRefusal, lookInLog, readLog } from "../../mempalace/events/log-tools.ts";
import { translateError } from "../../memory/ledger/open.ts";
import { HybridClock } from "../../mempalace/logstream/clock.ts";
import { LogFile, type LogPaths } from "../../mempalace/logstream/log-file.ts";
import { readPeers, readPublished } from "../../mempalace/logstream/mesh-files.ts";
import { LogRows } from "../../mempalace/logstream/rows.ts";
import { LogWriter } from "../../mempalace/logstream/writer.ts";
import { armFault } from "../../base/fault-point.ts";
import { serveThread } from "../../base/thread.ts";
import type { WriteCall, WriteOutcome } from "../../memory/port/ledger.ts";
import type { ReplicaState } from "../../memory/port/logstream.ts";

export type LogThreadData = { paths: LogPaths; serversDir: string; keptMs: number; fault: string | undefined };

export type LogMethods = {
  commit: (calls: WriteCall[]) => WriteOutcome[];
  read: (method: LogRead, values: Record<string, unknown>) => unknown;
  look: (values: Record<string, unknown>, seenSeq: number) => EventLookup;
  replicaState: () => ReplicaState;
  /** Returns a version that changes when another process commits. */
  version: () => string;
  /** Checks that the log's file still exists. Errors: PALACE_GONE, STORE_* if its write-ahead log vanished. */
  assertPresent: () => void;
  close: () => void;
};

const { paths, serversDir, keptMs, fault } = workerData as LogThreadData;
armFault(fault);

await serveThread<LogMethods>(() => {
  const file = new LogFile(paths);
  const clock = new HybridClock();
  let open: { rows: LogRows; writer: LogWriter } | undefined;
  const translated = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw translateError(error, file.file);
    }
  };
  const log = (): { rows: LogRows; writer: LogWriter } => {
    translated(() =>
      file.open((database) => {
        const rows = new LogRows(database, () => file.replicaId(), clock);
        const writer = new LogWriter({
          ...{ database, file: file.file, tx: rows, apply: applyToLog, refusalOf: logRefusal, keptMs },
        });
        open = { rows, writer };
      }),
    );
    return open as { rows: LogRows; writer: LogWriter };
  };
  return {
    commit: (calls) => {
      const { writer } = log();
      return translated(() => file.guard(() => writer.commit(calls)));
    },
    read: (method, values) => readLog(log().rows, method, values),
    look: (values, seenSeq) => lookInLog(log().rows, values, seenSeq),
    replicaState: () => ({
      replicaId: log().rows.replicaId(),
      versionVector: log().rows.versionVector(),
      peers: readPeers(paths.palaceDir),
      published: readPublished(serversDir, paths.palaceDir),
    }),
    version: () => file.version(),
    assertPresent: () => translated(() => file.assertPresent()),
    close: () => file.close(),
  };
});
