/** Makes the answers of the tools in the profile `outcome`: text for the agent, also for errors (outcome-memory.md 5.1). */
import { InvalidValue } from "../memory/text/validate.ts";
import type { ScoreResult } from "../protocol/outcome.ts";
import { plainId } from "./memory/memory.ts";

export type OutcomeAnswer = { text: string; isError?: true };

/** Wraps a write so that it answers with a sentence. A refused value becomes an error answer; any other error is thrown. */
export function answering<A extends unknown[], D>(
  write: (...given: A) => D,
  say: (done: D) => string,
): (...given: A) => OutcomeAnswer {
  return (...given) => {
    try {
      return { text: say(write(...given)) };
    } catch (error) {
      return refusal(error);
    }
  };
}

/** Wraps a read as `answering` wraps a write: a refused value becomes an error answer. */
export function answeringLater<A extends unknown[]>(
  answer: (...given: A) => Promise<string>,
): (...given: A) => Promise<OutcomeAnswer> {
  return async (...given) => {
    try {
      return { text: await answer(...given) };
    } catch (error) {
      return refusal(error);
    }
  };
}

function refusal(error: unknown): OutcomeAnswer {
  if (error instanceof InvalidValue) return { text: `Error: ${error.message}`, isError: true };
  throw error;
}

/** Sentences of the tools that write (outcome-memory.md 5.3–5.7). `id` is null if no stored fact fits the given text. */
export const SAID = {
  added: ({ id }: { id: string }) => `Added to memory bank (ID: ${id})`,
  updated: ({ id }: { id: string | null }) =>
    id === null ? "Memory not found for update" : `Updated memory (ID: ${plainId(id)})`,
  archived: ({ id }: { id: string | null }) =>
    id === null ? "Memory not found for deletion" : "Memory deleted successfully",
  recorded: ({ text }: { text: string }) => `Recorded: ${text}`,
  scored: ({ outcome, memories, summary, facts, settled }: ScoreResult) =>
    [
      `Scored (outcome=${outcome}, ${memories} memories updated)`,
      ...(summary === 0 ? [] : [`Summary stored (${summary} chars)`]),
      ...(facts === 0 ? [] : [`Facts stored (${facts})`]),
      ...(settled.length === 0 ? [] : [keptSaid(settled)]),
    ].join(". "),
};

/** Returns the sentence for an agent that contradicts scores that it gave earlier in the same turn. */
export function keptSaid(ids: readonly string[]): string {
  return `Unchanged, since an earlier call of this turn scored them differently: ${ids.join(", ")}. If that was wrong, tell the user: palace outcome score ID OUTCOME`;
}
