/** Makes one backup: snapshot, archive, final name, and an entry in the list of backups. */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { faultPoint } from "../../base/fault-point.ts";
import type { Steps } from "../../base/job-progress.ts";
import { assertTarget } from "./target.ts";
import { type ListedBackup, noteBackup } from "./known-backups.ts";
import type { Manifest } from "./manifest.ts";
import { packArchive, writeWhole } from "./pack.ts";
import { encrypted } from "./secret.ts";
import { type SnapshotSource, takeSnapshot } from "./snapshot.ts";

export type MakeInput = {
  source: SnapshotSource;
  /** Null for a temporary file in the home, which the report names and the caller removes. */
  file: string | null;
  replace: boolean;
  /** If undefined, the archive is not encrypted here; the caller may encrypt it. */
  passphrase: string | undefined;
  note: Pick<ListedBackup, "file" | "encrypted" | "scheduled">;
};

export type MakeReport = { file: string; bytes: number } & Required<
  Pick<Manifest, "madeAtMs" | "journalSeq" | "counts" | "leftOut" | "unreadable">
>;

const DRAFT = /^\.backup-[0-9a-f]{8}(\.tar)?$/;
/** Maximum age of a temporary archive. The caller reads it at once, so an older one is from a killed broker. */
export const STAGED_KEPT_MS = 20_000;

/** After an error no part of the backup exists. Errors: CONFIG_USAGE, STORE_*, BROKER_CANCELLED. */
export async function makeBackup(input: MakeInput, steps: Steps): Promise<MakeReport> {
  const { source, passphrase } = input;
  removeDrafts(source.home, STAGED_KEPT_MS);
  if (input.file !== null) assertTarget({ file: input.file, replace: input.replace }, source);
  const draft = join(source.home, `.backup-${randomBytes(4).toString("hex")}`);
  mkdirSync(draft, { mode: 0o700 });
  try {
    const body = await takeSnapshot(source, draft, steps);
    const total = body.files.reduce((sum, { size }) => sum + size, 0);
    let done = 0;
    const archive = packArchive(draft, body, (count) => steps.step("writing the archive", (done += count), total));
    const file = input.file ?? `${draft}.tar`;
    const bytes = await writeWhole(file, passphrase === undefined ? archive : await encrypted(archive, passphrase));
    const { madeAtMs, journalSeq, counts, leftOut, unreadable = [] } = body;
    noteBackup(source.home, { ...input.note, bytes, madeAtMs, journalSeq });
    faultPoint("backup.after-note");
    return { file, bytes, madeAtMs, journalSeq, counts, leftOut, unreadable };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Removes files of a killed broker from the home. Keeps archives younger than `olderMs`, which a caller may be about to read. */
export function removeDrafts(home: string, olderMs = 0): void {
  for (const name of readdirSync(home).filter((one) => DRAFT.test(one))) {
    const path = join(home, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (!name.endsWith(".tar") || Math.abs(age) >= olderMs) rmSync(path, { recursive: true, force: true });
  }
}
