/**
 * Named wake-up calls between the parts of an open palace. A part registers a listener, and code that makes work for this part calls the
 * listener. So no part needs a reference to a later part. A call without a listener is dropped: parts look for due work at their start.
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
