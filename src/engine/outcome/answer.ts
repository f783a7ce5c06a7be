/** What a tool of this surface answers: text for the agent, an error too (outcome-memory.md 5.1). */
import { InvalidValue } from "../text/validate.ts";

export type OutcomeAnswer = { text: string; isError?: true };

/** A refused value is an answer. Errors: any other. */
export function answering<A extends unknown[]>(answer: (...given: A) => string): (...given: A) => OutcomeAnswer {
  return (...given) => {
    try {
      return { text: answer(...given) };
    } catch (error) {
      return refusal(error);
    }
  };
}

/** As answering, for a read. */
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
