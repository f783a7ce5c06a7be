/** A backup made ready to take a palace's place, and what stands in that place now. Nothing of the palace is touched here. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { openForWriting } from "../ledger/open.ts";
import { CLOSETS, DRAWERS, OutboxList } from "../ledger/write/outbox-list.ts";
import { faultPoint } from "../platform/fault.ts";
import { type Draft, makeDraft } from "./draft.ts";
import { countIn } from "./look.ts";
import { damaged, LEDGER, type Manifest, TOKENS } from "./manifest.ts";
import { sync } from "./move.ts";
import { CONFIG, namesNoPlace } from "./settings.ts";
import { pendingRestore, STAGED } from "./swap.ts";
import { unpackVerified, type Verified, type VerifyOptions } from "./verify.ts";

export type Staged = Verified & Draft;

/** Where the public palace stood is not where it will stand: it is not there. */
const PUBLIC_MARKS = ["driver_target", "closet_target", "palace_seen"];

/** In a folder of the home's own. Errors: as unpackVerified. */
export async function stageBackup(file: string, home: string, options: Omit<VerifyOptions, "folder">): Promise<Staged> {
  const draft = makeDraft(home, STAGED);
  try {
    const verified = await unpackVerified(file, { ...options, folder: draft.folder });
    faultPoint("restore.after-unpack");
    return { ...verified, ...draft };
  } catch (error) {
    rmSync(draft.folder, { recursive: true, force: true });
    draft.release();
    throw error;
  }
}

/** Everything is sent to a public palace again, which is begun anew; what is staged is on disk from then on. Errors: STORE_*. */
export function listAllAgain(folder: string): void {
  const file = join(folder, LEDGER);
  // The writer would make an empty one.
  if (!existsSync(file)) throw damaged(`${file}, which was unpacked, is gone`);
  const ledger = openForWriting(file);
  try {
    ledger.transaction(() => {
      const forget = ledger.prepare("DELETE FROM meta WHERE key = ?");
      for (const key of PUBLIC_MARKS) forget.run(key);
      for (const listed of [DRAWERS, CLOSETS]) {
        ledger.exec(`DELETE FROM ${listed.table}`);
        new OutboxList(ledger, listed, (work) => work()).resend("all");
      }
    })();
    ledger.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    ledger.close();
  }
  for (const name of readdirSync(folder)) sync(join(folder, name));
  sync(folder);
  faultPoint("restore.after-list");
}

/** What is about to take a palace's place is all that the backup was read to hold. Errors: STORE_CORRUPT. */
export function assertStaged(folder: string, { files, counts }: Manifest): void {
  const gone = files.find(({ name }) => !existsSync(join(folder, name)));
  if (gone !== undefined) throw damaged(`${join(folder, gone.name)}, which was unpacked, is gone`);
  const found = countIn(folder);
  const other = Object.keys(found).find(
    (name) => found[name as keyof typeof found] !== counts[name as keyof typeof counts],
  );
  if (other !== undefined) throw damaged(`what was unpacked has other ${other} than it had`);
}

/** What of a backup may be put back: who it lets in, and which palace it names, is not for an archive to say. */
export function namesToPutBack({ folder, manifest }: Staged, withTokens: boolean): string[] {
  return manifest.files
    .map(({ name }) => name)
    .filter((name) => (name !== TOKENS || withTokens) && (name !== CONFIG || namesNoPlace(join(folder, name))));
}

/** What is staged is the palace while a list names it, and whoever finishes that takes the folder away; else it goes. */
export function leaveStaged(home: string, { folder, release }: Draft): void {
  try {
    if (pendingRestore(home)?.staged !== basename(folder)) rmSync(folder, { recursive: true, force: true });
  } catch {
    // A list that cannot be read may name it.
  } finally {
    release();
  }
}
