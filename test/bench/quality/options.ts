import type { Leg } from "./legs.ts";

export type Options = {
  legs: readonly Leg[];
  hasPython: boolean;
  /** Only developers' questions of this kind are asked; undefined for all kinds. */
  kind: string | undefined;
  print(text: string): void;
  /** Prints that something was not measured. The run then fails. */
  leaveOut(what: string, why: string): void;
};

/**
 * Result of one column. `ranks`: for each question the rank of its first right hit or, in the set `talks`, its recall in ten hits.
 * `misses`: a text for each question whose passage was not first.
 */
export type Outcome = { set: string; column: string; ranks: Record<string, number | null>; misses: string[] };
