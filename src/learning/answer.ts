/** Makes the answers of the tools in the profile `outcome`: texts for the agent, also about errors (outcome-memory.md 5.1). */
import { InvalidValue } from "../memory/text/validate.ts";
import type { ScoreResult } from "../protocol/outcome.ts";
import { plainId } from "./memory/memory.ts";

export type OutcomeAnswer = { text: string; isError?: true };

/** Wraps a write; its result becomes a sentence, and an InvalidValue an answer with `isError`. Throws other errors. */
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

/** Wraps a read; an InvalidValue becomes an answer with `isError`. Throws other errors. */
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

/** Answers of the tools that write (outcome-memory.md 5.3–5.7). `id` is null if no stored fact fits the agent's text. */
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

/** Returns the answer if an earlier call in the same turn scored these memories differently, so that the earlier scores stay. */
export function keptSaid(ids: readonly string[]): string {
  return `Unchanged, since an earlier call of this turn scored them differently: ${ids.join(", ")}. If that was wrong, tell the user: palace outcome score ID OUTCOME`;
}
