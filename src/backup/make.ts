/** Makes one backup: snapshot, archive, its name, and a line in the list of those that were made. Runs on the backup's thread. */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { faultPoint } from "../platform/fault.ts";
import type { Steps } from "../platform/steps.ts";
import { assertGoal } from "./goal.ts";
import { type ListedBackup, noteBackup } from "./list.ts";
import type { Counts } from "./manifest.ts";
import { packArchive, writeWhole } from "./pack.ts";
import { encrypted } from "./secret.ts";
import { type SnapshotSource, takeSnapshot } from "./snapshot.ts";

export type MakeInput = {
  source: SnapshotSource;
  /** Where it is to be; null: in a file of the home's own, which the caller takes away (`report.staged`). */
  file: string | null;
  /** Over an older one of the same name. */
  replace: boolean;
  /** Of ours: the caller's own is put around it by the caller. */
  passphrase: string | undefined;
  /** As the list has it. */
  note: Pick<ListedBackup, "file" | "encrypted" | "scheduled">;
};

export type MakeReport = {
  file: string;
  bytes: number;
  madeAtMs: number;
  journalSeq: number;
  counts: Counts;
  leftOut: string[];
};

const DRAFT = /^\.backup-[0-9a-f]{8}(\.tar)?$/;
/** Who was handed one takes it at once. */
const STAGED_KEPT_MS = 60_000;

/** Errors: CONFIG_USAGE, STORE_*, BROKER_CANCELLED; nothing is left of it then. */
export async function makeBackup(input: MakeInput, steps: Steps): Promise<MakeReport> {
  const { source, passphrase } = input;
  removeDrafts(source.home, STAGED_KEPT_MS);
  if (input.file !== null) assertGoal({ file: input.file, replace: input.replace }, source);
  const draft = join(source.home, `.backup-${randomBytes(4).toString("hex")}`);
  mkdirSync(draft, { mode: 0o700 });
  try {
    const body = await takeSnapshot(source, draft, steps);
    const total = body.files.reduce((sum, { size }) => sum + size, 0);
    let done = 0;
    const archive = packArchive(draft, body, (count) => steps.step("writing the archive", (done += count), total));
    const file = input.file ?? `${draft}.tar`;
    const bytes = await writeWhole(file, passphrase === undefined ? archive : await encrypted(archive, passphrase));
    const { madeAtMs, journalSeq, counts, leftOut } = body;
    noteBackup(source.home, { ...input.note, bytes, madeAtMs, journalSeq });
    faultPoint("backup.after-note");
    return { file, bytes, madeAtMs, journalSeq, counts, leftOut };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** What a broker that was killed has left in the home. `olderMs`: of archives that somebody may be about to take. */
export function removeDrafts(home: string, olderMs = 0): void {
  for (const name of readdirSync(home).filter((one) => DRAFT.test(one))) {
    const path = join(home, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (!name.endsWith(".tar") || Math.abs(age) >= olderMs) rmSync(path, { recursive: true, force: true });
  }
}
