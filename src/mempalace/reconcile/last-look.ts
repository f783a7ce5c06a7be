/** Types for one inspection of the palace: the numbers that were read (`Mark`), and what the broker stores for the next broker (`Seen`). */
import { statSync } from "node:fs";
import { isRecord, parseAs } from "../../base/parse-json.ts";
import type { AdoptionReport, ForeignWritersReport } from "../../protocol/spec.ts";
import type { Comparison } from "./compare.ts";
import type { SentCounts } from "./counted-driver.ts";

/** Minimum pause between comparisons. The pause is GAP_FACTOR times as long as the last comparison, but at most GAP_MAX_MS. */
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

/** Sequence number of the palace and counts of the driver, at a moment when no write runs. */
export type Mark = Readonly<{
  head: number;
  /** Number made from the inodes of the index folders. It changes if a folder is replaced. */
  segment: number;
  adopt: string | undefined;
  own: string | undefined;
  closets: string | undefined;
  sent: SentCounts;
}>;
export type Seen = {
  ours: string;
  head: number;
  segment: number;
  unindexed: number;
  report: ForeignWritersReport;
  /** Id of the adopted collection. Records of older brokers lack it, and `agreedHead` too. */
  adopt?: string;
  /** Id of the closets' adopted collection. Records of older brokers lack it. */
  closets?: string;
  agreedHead?: number;
  adoption?: AdoptionReport;
  /** Shutdown marker (shutdown-marker.ts). Absent while a broker runs and after a kill. */
  seal?: number;
};

export function parseSeen(text: string | undefined): Seen | undefined {
  return parseAs(text ?? "", isSeen);
}

/** Accepts any object, because records of older brokers lack fields. */
function isSeen(value: unknown): value is Seen {
  return isRecord(value);
}

export function pauseAfter(tookMs: number): number {
  return Math.min(Math.max(GAP_MIN_MS, tookMs * GAP_FACTOR), GAP_MAX_MS);
}

export function isForeign(comparison: Comparison | null): boolean {
  return comparison !== null && (comparison.isForeign || comparison.closets?.isForeign === true);
}

/** Returns one number made from the folders' inodes. It changes if a folder is replaced. */
export function inodesOf(folders: readonly string[]): number {
  return folders.reduce((sum, folder) => sum + (statSync(folder, { throwIfNoEntry: false })?.ino ?? 0), 0);
}
