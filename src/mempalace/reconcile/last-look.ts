/**
 * The position of palace and driver at one look, the part of it that the ledger keeps between brokers, and the time of
 * the next look. Used by reconciler.ts.
 */
import { statSync } from "node:fs";
import { isRecord } from "../../base/is-record.ts";
import { parseAs } from "../../base/parse-json.ts";
import type { AdoptionReport, ForeignWritersReport } from "../../protocol/spec.ts";
import type { Comparison } from "./compare.ts";
import type { SentCounts } from "./counted-driver.ts";

/**
 * Pause between two comparisons; a large palace gets longer ones, so that comparing costs a tenth of one thread, or one
 * run a minute.
 */
const GAP_MIN_MS = 5_000;
const GAP_FACTOR = 9;
const GAP_MAX_MS = 60_000;

export const NOTHING: Omit<ForeignWritersReport, "state" | "detail"> = {
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

/** The position of palace and driver at one quiet moment. */
export type Mark = Readonly<{
  head: number;
  /** Identifies the folders of both collections' indexes. */
  segment: number;
  adopt: string | undefined;
  /** The collection that the driver has open. */
  own: string | undefined;
  closets: string | undefined;
  sent: SentCounts;
}>;
/** The part that the ledger keeps between brokers. */
export type Seen = {
  ours: string;
  head: number;
  segment: number;
  unindexed: number;
  report: ForeignWritersReport;
  /** Absent in ledgers of older versions: the adopted collection, and the palace's number when both sides agreed. */
  adopt?: string;
  /** The adopted collection of the closets; absent in ledgers that knew none. */
  closets?: string;
  agreedHead?: number;
  adoption?: AdoptionReport;
  /**
   * The shutdown marker, which a broker that ended in order wrote into the palace's header; absent while one runs, and
   * where it did not.
   */
  seal?: number;
};

export function parseSeen(text: string | undefined): Seen | undefined {
  return parseAs(text ?? "", isSeen);
}

/** The shutdown marker takes itself out and leaves the rest, which may be nothing. */
function isSeen(value: unknown): value is Seen {
  return isRecord(value);
}

export function pauseAfter(tookMs: number): number {
  return Math.min(Math.max(GAP_MIN_MS, tookMs * GAP_FACTOR), GAP_MAX_MS);
}

/** True when it holds anything that the ledger should adopt. */
export function isForeign(comparison: Comparison | null): boolean {
  return comparison !== null && (comparison.isForeign || comparison.closets?.isForeign === true);
}

/** One number that identifies these folders; a replaced folder changes it. */
export function inodesOf(folders: readonly string[]): number {
  return folders.reduce((sum, folder) => sum + (statSync(folder, { throwIfNoEntry: false })?.ino ?? 0), 0);
}
