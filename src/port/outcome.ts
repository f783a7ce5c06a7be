/** What came of a drawer that was shown: its outcomes, and what they add up to. Implemented in ledger/. */

/** An outcome that counts; `unknown` changes nothing and is not kept. */
export type Telling = "worked" | "failed" | "partial";
export type Outcome = Telling | "unknown";

export type PastOutcome = { outcome: Telling; atMs: number; reason: string | null };

/** What a drawer's outcomes add up to. */
export type Standing = {
  /** 0…1, six decimals. */
  score: number;
  uses: number;
  /** `worked` counts 1, `partial` 0.5; it is never capped, and survives a move. */
  successes: number;
  lastUsedMs: number | null;
  /** The newest is last. */
  past: readonly PastOutcome[];
};

/** A drawer's standing goes with the drawer. Concurrency and errors: as LedgerTx. */
export interface StandingTx {
  /** Undefined for a drawer that never had an outcome. */
  find(id: string): Standing | undefined;
  put(id: string, standing: Standing): void;
}
