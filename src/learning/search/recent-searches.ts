/** Remembers recent searches and their results in memory, so that a later score counts for the right question (outcome-memory.md 5.9). */
import type { Question } from "../../memory/port/outcome.ts";
import { questionOf } from "../question/question.ts";

/** Maximum number of remembered results of all agents together; then the oldest are forgotten. A search finds at most twenty. */
const KEPT_MAX = 2_000;
const KEPT_MS = 3_600_000;

export type OwnSearches = {
  note: (drawers: readonly string[], query: string) => void;
  /** Returns the question whose search found the drawer, and forgets the question: the drawer's next score belongs to another search. */
  take: (drawer: string) => Question | undefined;
  /** Remembers the taken questions again, for a score that could not be stored. Newer questions stay. */
  giveBack: () => void;
};

type Noted = { question: Question; atMs: number };

export class Searches {
  #questions = new Map<string, Noted>();

  of(agent: string): OwnSearches {
    const nameOf = (drawer: string): string => JSON.stringify([agent, drawer]);
    const taken = new Map<string, Noted>();
    const questions = this.#questions;
    return {
      note: (drawers, query) => {
        const question = questionOf(query);
        for (const drawer of drawers) this.#keep(nameOf(drawer), question);
      },
      take: (drawer) => {
        const name = nameOf(drawer);
        const noted = this.#take(name);
        if (noted !== undefined) taken.set(name, noted);
        return noted?.question;
      },
      giveBack: () => {
        // Restores nothing after `clear`, because the user may have erased the texts of the questions.
        if (questions === this.#questions) for (const [name, noted] of taken) this.#giveBack(name, noted);
        taken.clear();
      },
    };
  }

  /** Forgets all questions, because a question may be about a text that the user has erased. */
  clear(): void {
    this.#questions = new Map();
  }

  #take(name: string): Noted | undefined {
    const noted = this.#questions.get(name);
    this.#questions.delete(name);
    return noted !== undefined && performance.now() - noted.atMs < KEPT_MS ? noted : undefined;
  }

  #giveBack(name: string, noted: Noted): void {
    if (!this.#questions.has(name) && this.#questions.size < KEPT_MAX) this.#questions.set(name, noted);
  }

  #keep(name: string, question: Question | undefined): void {
    this.#questions.delete(name);
    if (question !== undefined) this.#questions.set(name, { question, atMs: performance.now() });
    const [oldest] = this.#questions.keys();
    if (this.#questions.size > KEPT_MAX && oldest !== undefined) this.#questions.delete(oldest);
  }
}
