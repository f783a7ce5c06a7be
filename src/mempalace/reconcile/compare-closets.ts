/**
 * Compares the palace's closets with the ledger's, as compare.ts does for drawers: foreign rows that the ledger lacks, and our rows that
 * were lost. Runs on the same thread.
 */
import type { LedgerDatabase } from "../../memory/ledger/open.ts";
import { hasForeign, type Horizon } from "../adopt/foreign-rows.ts";
import { absentIds } from "../adopt/settled-rows.ts";
import { type ChromaCollection, type ChromaDatabase, CLOSETS, countUnindexed } from "../format/chroma-file.ts";

export type ClosetComparison = {
  /** Id of the closets' collection; undefined if the palace has none. */
  collectionId: string | undefined;
  /** True if the ledger should adopt anything. */
  isForeign: boolean;
  /** Ids of our closets that must be in the palace and are not. */
  missing: string[];
  /** Number of rows without a vector in the index. */
  unindexed: number;
};

const MISSING_MAX = 20_000;

/** Compares closets. `isOurs`: the driver writes this palace, so all sent closets must be in it. */
export function compareClosets(
  palace: ChromaDatabase,
  palaceDir: string,
  collections: readonly ChromaCollection[],
  ledger: LedgerDatabase,
  { horizon, isOurs }: { horizon: Horizon; isOurs: boolean },
): ClosetComparison {
  const collection = collections.find(({ name }) => name === CLOSETS);
  const missing = isOurs ? absentIds({ palace, collection, ledger, kind: "closets" }, MISSING_MAX) : [];
  if (collection === undefined) return { collectionId: undefined, isForeign: false, missing, unindexed: 0 };
  return {
    collectionId: collection.id,
    isForeign: hasForeign({ palace, palaceDir, collection, ledger, horizon, kind: "closets" }),
    missing,
    unindexed: countUnindexed(palace, palaceDir, collection),
  };
}
