/** How a standing is stored in a row. Used by the ledger's transaction and its reader. */
import type { PastOutcome, Standing } from "../port/outcome.ts";

export type StandingRecord = {
  id: string;
  score: number;
  uses: number;
  successes: number;
  last_used_ms: number | null;
  past: string;
};

export function toStanding({ score, uses, successes, last_used_ms, past }: StandingRecord): Standing {
  return { score, uses, successes, lastUsedMs: last_used_ms, past: JSON.parse(past) as PastOutcome[] };
}
