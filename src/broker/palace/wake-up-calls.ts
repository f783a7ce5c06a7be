/** Wakes a background task by its name, so that the caller needs no reference to it. A task that starts later looks for work by itself. */
export type Part = "outbox" | "closets" | "backlog" | "graph" | "erasure" | "upkeep";

export class Wakes {
  readonly #listeners = new Map<Part, () => void>();

  on(part: Part, wake: () => void): void {
    this.#listeners.set(part, wake);
  }

  wake(...parts: readonly Part[]): void {
    for (const part of parts) this.#listeners.get(part)?.();
  }
}
