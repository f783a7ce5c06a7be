/** Where palace and driver stood when somebody looked, what of it is kept in the ledger between brokers, when to look again. Used by watch.ts. */
import { statSync } from "node:fs";
import type { AdoptionReport, StrayReport } from "../../protocol/spec.ts";
import type { Comparison } from "./compare.ts";
import type { SentCounts } from "./counted-driver.ts";

/** Between two comparisons; a large palace has longer pauses, so that it costs a tenth of one thread, or a look a minute. */
const GAP_MIN_MS = 5_000;
const GAP_FACTOR = 9;
const GAP_MAX_MS = 60_000;

export const NOTHING: Omit<StrayReport, "state" | "detail"> = {
  ...{ rows: 0, collections: [], newestAtMs: null, changed: 0, resent: 0, unindexed: 0, taken: 0 },
};
export const NOT_ADOPTED: AdoptionReport = {
  state: "none",
  rows: 0,
  read: 0,
  taken: 0,
  atMs: null,
  detail: "",
  hint: "",
};

/** Where palace and driver stood at one quiet moment. */
export type Mark = Readonly<{
  head: number;
  /** Of the folders of both collections' indexes. */
  segment: number;
  adopt: string | undefined;
  /** The collection that the driver has open. */
  own: string | undefined;
  closets: string | undefined;
  sent: SentCounts;
}>;
/** What is kept in the ledger between brokers. */
export type Seen = {
  ours: string;
  head: number;
  segment: number;
  unindexed: number;
  report: StrayReport;
  /** Absent in ledgers of before: the collection taken over, and the palace's number when both sides agreed. */
  adopt?: string;
  /** The same of the closets' collection; absent in ledgers that knew none. */
  closets?: string;
  agreedHead?: number;
  adoption?: AdoptionReport;
  /** What a broker that ended in order wrote into the palace's header; absent while one runs, and where it did not. */
  seal?: number;
};

export function parseSeen(text: string | undefined): Seen | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Seen);
  } catch {
    return undefined;
  }
}

export function pauseAfter(tookMs: number): number {
  return Math.min(Math.max(GAP_MIN_MS, tookMs * GAP_FACTOR), GAP_MAX_MS);
}

/** Whether there is anything in it that the ledger ought to take over. */
export function isForeign(comparison: Comparison | null): boolean {
  return comparison !== null && (comparison.isForeign || comparison.closets?.isForeign === true);
}

/** One number for which folders these are; one that is put in another's place changes it. */
export function inodesOf(folders: readonly string[]): number {
  return folders.reduce((sum, folder) => sum + (statSync(folder, { throwIfNoEntry: false })?.ino ?? 0), 0);
}
