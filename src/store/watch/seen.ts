/** Where palace and driver stood when somebody looked, and what of it is kept in the ledger between brokers. Used by watch.ts. */
import type { AdoptionReport, StrayReport } from "../../protocol/spec.ts";
import type { SentCounts } from "./counted-driver.ts";

/** Where palace and driver stood at one quiet moment. */
export type Mark = Readonly<{
  head: number;
  /** Of the folders of both collections' indexes. */
  segment: number;
  adopt: string | undefined;
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
};

export function parseSeen(text: string | undefined): Seen | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Seen);
  } catch {
    return undefined;
  }
}
