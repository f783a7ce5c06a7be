/**
 * Named wake-up calls between the parts of an open palace. A part listens, and any code that makes work for it calls. So no part needs a
 * reference to one that is built later. A call without a listener is dropped, because each part looks for due work when it starts.
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
