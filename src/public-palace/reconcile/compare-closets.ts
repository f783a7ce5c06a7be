/**
 * Closets of the palace held against the ledger's, as compare.ts holds the drawers: what others have there that the ledger
 * lacks, and what of ours has got lost. Called on its thread.
 */
import type { LedgerDatabase } from "../../ledger/open.ts";
import { ForeignRows, type Horizon } from "../adopt/foreign-rows.ts";
import { type ChromaCollection, type ChromaDatabase, CLOSETS, countUnindexed } from "../format/chroma-file.ts";

export type ClosetComparison = {
  /** Their collection; undefined: the palace has none. */
  collectionId: string | undefined;
  /** Whether there is anything that the ledger ought to take over. */
  isForeign: boolean;
  /** Closets of ours that ought to be there and are not. */
  missing: string[];
  /** Rows without a vector in the index. */
  unindexed: number;
};

const MISSING_MAX = 20_000;

/** `isOurs`: the driver writes this palace, so that what is sent ought to be there. */
export function compareClosets(
  palace: ChromaDatabase,
  palaceDir: string,
  collections: readonly ChromaCollection[],
  ledger: LedgerDatabase,
  { horizon, isOurs }: { horizon: Horizon; isOurs: boolean },
): ClosetComparison {
  const settled = isOurs ? settledIds(ledger) : [];
  const collection = collections.find(({ name }) => name === CLOSETS);
  if (collection === undefined) return { collectionId: undefined, isForeign: false, missing: settled, unindexed: 0 };
  const there = present(palace, collection, settled);
  const absent = settled.filter((id) => !there.has(id));
  // Again: one that was deleted here while the palace was read is not missing there.
  const still = new Set(absent.length === 0 ? [] : settledIds(ledger));
  return {
    collectionId: collection.id,
    isForeign: hasForeign(palace, palaceDir, collection, ledger, horizon),
    missing: absent.filter((id) => still.has(id)).slice(0, MISSING_MAX),
    unindexed: countUnindexed(palace, palaceDir, collection),
  };
}

/** What the palace ought to hold exactly so. */
function settledIds(ledger: LedgerDatabase): string[] {
  return ledger
    .prepare<[], string>(
      `SELECT id FROM closet c WHERE vector IS NOT NULL AND NOT EXISTS (SELECT 1 FROM closet_outbox o WHERE o.id = c.id)
         ORDER BY row`,
    )
    .pluck()
    .all();
}

function present(palace: ChromaDatabase, { metadataSegment }: ChromaCollection, ids: readonly string[]): Set<string> {
  const sql = `SELECT embedding_id FROM embeddings
    WHERE segment_id = ? AND embedding_id IN (SELECT value FROM json_each(?))`;
  const find = palace.prepare<[string, string], string>(sql).pluck();
  const found = new Set<string>();
  for (let from = 0; from < ids.length; from += 200)
    for (const id of find.all(metadataSegment, JSON.stringify(ids.slice(from, from + 200)))) found.add(id);
  return found;
}

function hasForeign(
  palace: ChromaDatabase,
  palaceDir: string,
  collection: ChromaCollection,
  ledger: LedgerDatabase,
  horizon: Horizon,
): boolean {
  const foreign = new ForeignRows({ palace, palaceDir, collection, ledger, horizon, kind: "closets" });
  try {
    for (;;) {
      const { rows, removed, done } = foreign.next();
      if (rows.length + removed.length > 0 || done) return rows.length + removed.length > 0;
    }
  } finally {
    foreign.close();
  }
}
