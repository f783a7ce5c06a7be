/** Prepares a backup to replace a palace. Changes nothing in that palace. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { openForWriting } from "../ledger/open.ts";
import { CLOSETS, DRAWERS, NOW_MS, removedPrefix } from "../ledger/outbox-kinds.ts";
import { OutboxList } from "../ledger/write/outbox-list.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { type Draft, dropDraft, makeDraft } from "./draft.ts";
import { countIn } from "./look.ts";
import { LEDGER, TOKENS } from "./contents.ts";
import { damaged, type Manifest } from "./manifest.ts";
import { sync } from "./move.ts";
import { CONFIG, namesNoPlace } from "./config-place.ts";
import { pendingRestore, STAGED } from "./swap.ts";
import { unpackVerified, type Verified, type VerifyOptions } from "./verify.ts";

export type Staged = Verified & Draft;

/** Keys in `meta` that describe the old public palace, so they are wrong after a restore. */
const PUBLIC_MARKS = ["driver_target", "closet_target", "palace_seen"];

/** Unpacks and verifies the backup in a new folder inside the palace's home. Errors: as unpackVerified. */
export async function stageBackup(file: string, home: string, options: Omit<VerifyOptions, "folder">): Promise<Staged> {
  const draft = makeDraft(home, STAGED);
  try {
    const verified = await unpackVerified(file, { ...options, folder: draft.folder });
    faultPoint("restore.after-unpack");
    return { ...verified, ...draft };
  } catch (error) {
    dropDraft(draft);
    throw error;
  }
}

/** Lists all rows of the ledger in its outboxes, so that the next broker sends them. Syncs the unpacked files. Errors: STORE_*. */
export function listAllAgain(folder: string): void {
  const file = join(folder, LEDGER);
  // Checked here, because SQLite would create a missing file.
  if (!existsSync(file)) throw damaged(`${file}, which was unpacked, is gone`);
  const ledger = openForWriting(file);
  try {
    ledger.transaction(() => {
      const forget = ledger.prepare("DELETE FROM meta WHERE key = ?");
      for (const key of PUBLIC_MARKS) forget.run(key);
      for (const listed of [DRAWERS, CLOSETS]) {
        ledger.exec(`DELETE FROM ${listed.table}; DELETE FROM meta WHERE key LIKE '${removedPrefix(listed)}%'`);
        new OutboxList(ledger, listed, (work) => work()).resend("all");
      }
      // Upstream's files of links may be outside the folders that a restore replaces, so they may be older. A link that such a file lacks
      // would count as deleted, unless it is in the outbox.
      ledger.exec(`INSERT OR IGNORE INTO graph_outbox (kind, id, at_ms)
        SELECT kind, id, ${NOW_MS} FROM link ORDER BY row`);
    })();
    ledger.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    ledger.close();
  }
  for (const name of readdirSync(folder)) sync(join(folder, name));
  sync(folder);
  sync(dirname(folder));
  faultPoint("restore.after-list");
}

/** Checks that the unpacked files still exist and have the manifest's numbers of rows. Errors: STORE_CORRUPT. */
export function assertStaged(folder: string, { files, counts }: Manifest): void {
  const gone = files.find(({ name }) => !existsSync(join(folder, name)));
  if (gone !== undefined) throw damaged(`${join(folder, gone.name)}, which was unpacked, is gone`);
  const found = countIn(folder);
  const other = Object.keys(found).find(
    (name) => found[name as keyof typeof found] !== counts[name as keyof typeof counts],
  );
  if (other !== undefined) throw damaged(`the unpacked files have other ${other} than before`);
}

/** Returns the files to restore: without tokens (unless `withTokens`), and without settings that name a palace. */
export function namesToPutBack({ folder, manifest }: Staged, withTokens: boolean): string[] {
  return manifest.files
    .map(({ name }) => name)
    .filter((name) => (name !== TOKENS || withTokens) && (name !== CONFIG || namesNoPlace(join(folder, name))));
}

/** Removes the unpacked backup, unless an unfinished restore needs it. The process that finishes the restore then removes it. */
export function leaveStaged(home: string, { folder, release }: Draft): void {
  try {
    if (pendingRestore(home)?.staged !== basename(folder)) rmSync(folder, { recursive: true, force: true });
  } catch {
    // The list of the unfinished restore cannot be read. It may name the folder, so the folder stays.
  } finally {
    release();
  }
}
