/** Rebuilds the public palace beside the palace in use, from the ledger and the old files, verifies the result, and swaps it in. */
import { mkdirSync } from "node:fs";
import { faultPoint } from "../../base/fault-point.ts";
import type { PalaceRecord } from "../../memory/port/public-palace.ts";
import { PalaceWriter } from "../driver/files/palace-writer.ts";
import { ContentHash } from "./content-hash.ts";
import { readOtherCollections } from "./others.ts";
import { Snapshot } from "./snapshot.ts";
import type { Steps } from "../../base/job-progress.ts";
import { draftFolder, swapIn, tidy } from "./swap.ts";
import { verifyCollection } from "./verify.ts";

const BATCH_ROWS = 100;

export type RepairInput = {
  ledgerFile: string;
  palaceDir: string;
  collection: string;
  tag: string;
  /** Id of the drawers' collection. The rebuilt collection gets the same id: with a new id the outbox would send all drawers again. */
  collectionId: string | undefined;
  /** Part of the name of the old palace's folder, `before-WHY-TIME`. */
  why: string;
};

export type RepairReport = {
  drawers: number;
  hash: string;
  /** Number of drawers that the rebuilt palace lacks because they have no vector yet. The outbox sends them later. */
  leftOut: number;
  others: { name: string; rows: number; unreadable: number }[];
  /** Reason why the old palace's other collections could not be read; null if they could. */
  unread: string | null;
  kept: string | null;
};

/** Rebuilds the palace. If it fails, the palace in use is unchanged. Errors: STORE_*, BROKER_CANCELLED. */
export async function repairPalace(input: RepairInput, steps: Steps): Promise<RepairReport> {
  const { palaceDir, collection, tag, ledgerFile, collectionId, why } = input;
  mkdirSync(palaceDir, { recursive: true, mode: 0o700 });
  tidy(palaceDir, tag);
  const draft = draftFolder(palaceDir, tag);
  const snapshot = new Snapshot(ledgerFile);
  try {
    const { collections, why: unread } = readOtherCollections(palaceDir, collection);
    const total = snapshot.embedded + collections.reduce((sum, { records }) => sum + records.size, 0);
    faultPoint("repair.before-build");
    const write = async (name: string, id: string | undefined, pages: Iterable<PalaceRecord[]>, from: number) => {
      const hash = new ContentHash();
      const writer = new PalaceWriter(draft, name, id);
      try {
        for (const page of pages)
          for (let at = 0; at < page.length; at += BATCH_ROWS) {
            const batch = page.slice(at, at + BATCH_ROWS);
            writer.upsert(batch);
            for (const record of batch) hash.add(record);
            faultPoint("repair.in-build");
            await steps.step(`writing ${name}`, from + hash.rows, total);
          }
        // Creates the palace's files even without any record.
        writer.create();
      } finally {
        writer.close();
      }
      return hash;
    };
    const drawers = await write(collection, collectionId, snapshot.pages(), 0);
    let written = drawers.rows;
    for (const { name, records } of collections) {
      const hash = await write(name, undefined, [[...records.values()]], written);
      written += hash.rows;
      const same = { rows: hash.rows, hash: hash.hex, record: (id: string) => records.get(id) };
      await verifyCollection(draft, name, same, () => steps.step(`verifying ${name}`, written, total));
    }
    faultPoint("repair.before-verify");
    const expected = { rows: drawers.rows, hash: drawers.hex, record: (id: string) => snapshot.record(id) };
    await verifyCollection(draft, collection, expected, (rows) => steps.step("verifying", rows, total));
    await steps.step("putting it in place", total, total);
    faultPoint("repair.before-swap");
    const kept = swapIn(palaceDir, draft, why);
    return {
      ...{ drawers: drawers.rows, hash: drawers.hex, leftOut: snapshot.drawers - snapshot.embedded },
      others: collections.map(({ name, records, unreadable }) => ({ name, rows: records.size, unreadable })),
      unread: unread ?? null,
      kept: kept ?? null,
    };
  } finally {
    snapshot.close();
    tidy(palaceDir, tag);
  }
}
