/**
 * What agents have searched for lately, and found: a score that follows is of that question. Lives on the broker's main thread, and is
 * gone with it. Source: outcome-memory.md 5.9.
 */
import type { Question } from "../../port/outcome.ts";
import { questionOf } from "./question.ts";

/** Of all agents together: a search finds five memories, twenty at most. */
const KEPT_MAX = 2_000;
const KEPT_MS = 3_600_000;

/** Of one agent. */
export type OwnSearches = {
  note: (drawers: readonly string[], query: string) => void;
  /** For the score that follows; the next one is of another search. */
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

  /** What was forgotten may have been asked for. */
  clear(): void {
    this.#questions.clear();
  }

  #take(name: string): Question | undefined {
    const { question, atMs = -Infinity } = this.#questions.get(name) ?? {};
    this.#questions.delete(name);
    return performance.now() - atMs < KEPT_MS ? question : undefined;
  }

  /** The newest question of a memory is the one that counts. */
  #keep(name: string, question: Question | undefined): void {
    this.#questions.delete(name);
    if (question !== undefined) this.#questions.set(name, { question, atMs: performance.now() });
    const [oldest] = this.#questions.keys();
    if (this.#questions.size > KEPT_MAX && oldest !== undefined) this.#questions.delete(oldest);
  }
}
