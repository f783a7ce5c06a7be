/** Entry of the worker thread that makes or reads one backup and then ends. */
import { workerData } from "node:worker_threads";
import { armFault } from "../../base/fault-point.ts";
import { type Progress, Steps } from "../../base/job-progress.ts";
import { serveThread } from "../../base/thread.ts";
import { dropDraft, makeDraft, removeDrafts, VERIFY_DRAFT } from "./draft.ts";
import { glance } from "./look.ts";
import type { Manifest } from "./manifest.ts";
import { unpackVerified } from "./verify.ts";
import { makeBackup, type MakeInput, type MakeReport } from "./make.ts";

export type BackupThreadData = { fault: string | undefined };

/** Backup to verify, which is unpacked in `cacheDir`. The report also has the counts of the palace of `ledgerFile`. */
export type VerifyInput = { file: string; ledgerFile: string; cacheDir: string; passphrase: string | undefined };
export type VerifyReport = Omit<Manifest, "kind" | "schema" | "ledgerSchema" | "files"> & {
  file: string;
  bytes: number;
  encrypted: boolean;
  /** The present palace, which a restore would move aside; null if it cannot be read. */
  before: NonNullable<ReturnType<typeof glance>> | null;
};

export type BackupMethods = {
  verify(input: VerifyInput): Promise<VerifyReport>;
  make(input: MakeInput): Promise<MakeReport>;
  progress(): Progress;
  cancel(): void;
};

armFault((workerData as BackupThreadData).fault);

await serveThread<BackupMethods>(() => {
  const steps = new Steps();
  const cancelled = new AbortController();
  return {
    verify: (input) => verifyBackup(input, steps, cancelled.signal),
    make: (input) => makeBackup(input, steps),
    progress: () => steps.progress,
    cancel: () => {
      cancelled.abort();
      steps.cancel();
    },
  };
});

/** Reads a whole backup and counts the present palace. Errors: as unpackVerified. */
async function verifyBackup(
  { file, ledgerFile, cacheDir, passphrase }: VerifyInput,
  steps: Steps,
  signal: AbortSignal,
): Promise<VerifyReport> {
  removeDrafts(cacheDir, VERIFY_DRAFT);
  const draft = makeDraft(cacheDir, VERIFY_DRAFT);
  const { folder } = draft;
  const onBytes = (done: number, total: number): void => void (steps.progress = { step: "reading", done, total });
  try {
    const read = await unpackVerified(file, { folder, onBytes, signal, passphrase: () => Promise.resolve(passphrase) });
    const { kind: _kind, schema: _schema, ledgerSchema: _ledger, files: _files, ...manifest } = read.manifest;
    return { ...manifest, file, bytes: read.bytes, encrypted: read.isEncrypted, before: glance(ledgerFile) ?? null };
  } finally {
    dropDraft(draft);
  }
}
