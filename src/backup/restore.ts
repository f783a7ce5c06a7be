/** A backup made ready to take a palace's place, and what stands in that place now. Nothing of the palace is touched here. */
import { closeSync, fsyncSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openForWriting } from "../ledger/open.ts";
import { CLOSETS, DRAWERS, OutboxList } from "../ledger/write/outbox-list.ts";
import { faultPoint } from "../platform/fault.ts";
import { LEDGER } from "./manifest.ts";
import { stagedFolder } from "./swap.ts";
import { unpackVerified, type Verified, type VerifyOptions } from "./verify.ts";

export type Staged = Verified & { folder: string };

/** Where the public palace stood is not where it will stand: it is not there. */
const PUBLIC_MARKS = ["driver_target", "closet_target", "palace_seen"];

/** In a folder of the home's own. Errors: as unpackVerified. */
export async function stageBackup(file: string, home: string, options: Omit<VerifyOptions, "folder">): Promise<Staged> {
  const folder = stagedFolder(home);
  const verified = await unpackVerified(file, { ...options, folder });
  faultPoint("restore.after-unpack");
  return { ...verified, folder };
}

/** Everything is sent to a public palace again, which is begun anew; what is staged is on disk from then on. Errors: STORE_*. */
export function listAllAgain(folder: string): void {
  const file = join(folder, LEDGER);
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
  for (const name of readdirSync(folder)) {
    const written = openSync(join(folder, name), "r");
    try {
      fsyncSync(written);
    } finally {
      closeSync(written);
    }
  }
  faultPoint("restore.after-list");
}
