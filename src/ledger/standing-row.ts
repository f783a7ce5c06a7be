/** How a standing, and a single outcome, is stored in a row. Used by the ledger's transaction and its reader. */
import type { OutcomeSource, PastOutcome, Scored, Standing, Telling } from "../port/outcome.ts";

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

export type ScoredRecord = {
  at_ms: number;
  outcome: string;
  source: string;
  weight: number;
  conversation: string | null;
  exchange: string | null;
};

export function toScored({ at_ms, outcome, source, ...same }: ScoredRecord): Scored {
  return { ...same, atMs: at_ms, outcome: outcome as Telling, source: source as OutcomeSource };
}
