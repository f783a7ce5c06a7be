import type { Leg } from "./legs.ts";

export type Options = {
  legs: readonly Leg[];
  hasPython: boolean;
  /** Only this kind of the developers' questions. */
  kind: string | undefined;
  print(text: string): void;
  /** Says loudly that something was not measured; the run fails. */
  leaveOut(what: string, why: string): void;
};

/** What one column of a set measured: the rank of each question, and a text for each that was not first. */
export type Outcome = { set: string; column: string; ranks: Record<string, number | null>; misses: string[] };
