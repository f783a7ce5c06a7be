/**
 * Who has new work, by name. Parts of the open palace listen, whoever makes work for them calls: nobody needs to hold a part that is
 * built after it. A call that nobody listens to is dropped; each part looks for what is due when it starts.
 */
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
