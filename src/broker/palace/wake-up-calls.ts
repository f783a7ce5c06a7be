/** Wakes background work by name, so that no part needs a reference to a later part. At its start, each part looks for work by itself. */
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
