/**
 * Remembers recent searches and their results, so that a following score is counted for the right question. Kept in memory on the
 * broker's main thread, and lost with it. Source: outcome-memory.md 5.9.
 */
import type { Question } from "../../memory/port/outcome.ts";
import { questionOf } from "../question/question.ts";

/** Results kept, of all agents together: a search finds five memories, twenty at most. */
const KEPT_MAX = 2_000;
const KEPT_MS = 3_600_000;

/** Searches of one agent. */
export type OwnSearches = {
  note: (drawers: readonly string[], query: string) => void;
  /** Returns the question for the score that follows, and forgets it: the next score belongs to another search. */
  take: (drawer: string) => Question | undefined;
};

export class Searches {
  readonly #questions = new Map<string, { question: Question; atMs: number }>();

  of(agent: string): OwnSearches {
    const nameOf = (drawer: string): string => JSON.stringify([agent, drawer]);
    return {
      note: (drawers, query) => {
        const question = questionOf(query);
        for (const drawer of drawers) this.#keep(nameOf(drawer), question);
      },
      take: (drawer) => this.#take(nameOf(drawer)),
    };
  }

  /** Forgets all questions, since a question may be about what the user has erased. */
  clear(): void {
    this.#questions.clear();
  }

  #take(name: string): Question | undefined {
    const { question, atMs = -Infinity } = this.#questions.get(name) ?? {};
    this.#questions.delete(name);
    return performance.now() - atMs < KEPT_MS ? question : undefined;
  }

  /** Keeps only a memory's newest question. */
  #keep(name: string, question: Question | undefined): void {
    this.#questions.delete(name);
    if (question !== undefined) this.#questions.set(name, { question, atMs: performance.now() });
    const [oldest] = this.#questions.keys();
    if (this.#questions.size > KEPT_MAX && oldest !== undefined) this.#questions.delete(oldest);
  }
}
