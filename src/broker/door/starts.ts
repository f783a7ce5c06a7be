/** Starts a few requests in each turn of the event loop, so that a thousand requests of one peer do not block other peers. */

/** A stream with waiting requests. `startNext` starts one of them and returns true if more wait. */
export type Starter = { startNext: () => boolean };

const STARTS_A_TURN = 32;

export class Starts {
  readonly #waiting = new Set<Starter>();
  #left = STARTS_A_TURN;
  #isArmed = false;

  /** Returns true if a request may start now. Otherwise `startNext` is called in a later turn. */
  take(starter: Starter): boolean {
    if (!this.#isArmed) setImmediate(() => this.#turn());
    this.#isArmed = true;
    if (this.#waiting.size === 0 && this.#left > 0) {
      this.#left -= 1;
      return true;
    }
    this.#waiting.add(starter);
    return false;
  }

  #turn(): void {
    this.#left = STARTS_A_TURN;
    for (const starter of this.#waiting) {
      if (this.#left === 0) break;
      this.#left -= 1;
      this.#waiting.delete(starter);
      if (starter.startNext()) this.#waiting.add(starter);
    }
    this.#isArmed = this.#waiting.size > 0;
    if (this.#isArmed) setImmediate(() => this.#turn());
    else this.#left = STARTS_A_TURN;
  }
}
