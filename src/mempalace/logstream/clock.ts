/** Hybrid logical clock as in upstream's RFC 004. Each new stamp sorts after every known stamp, even if the wall clock is set back. */
const STAMP = /^(\d{13})-([0-9a-f]{6})-/;
const COUNTER_MAX = 0xff_ffff;
/** Maximum time that another writer's stamp may be ahead of the wall clock. A stamp further ahead is ignored. */
const AHEAD_MAX_MS = 60_000;

export class HybridClock {
  #ms = 0;
  #counter = 0;

  /** Returns the next stamp. `newest`: the latest stamp in the log file, from any writer. */
  next(replicaId: string, newest: string | null, nowMs: number): string {
    const [, ms = "0", counter = "0"] = STAMP.exec(newest ?? "") ?? [];
    this.#follow(Number(ms), Number.parseInt(counter, 16), nowMs);
    if (nowMs > this.#ms) [this.#ms, this.#counter] = [nowMs, 0];
    else if (this.#counter < COUNTER_MAX) this.#counter += 1;
    else [this.#ms, this.#counter] = [this.#ms + 1, 0];
    return `${String(this.#ms).padStart(13, "0")}-${this.#counter.toString(16).padStart(6, "0")}-${replicaId}`;
  }

  #follow(ms: number, counter: number, nowMs: number): void {
    if (ms > nowMs + AHEAD_MAX_MS) return;
    if (ms > this.#ms || (ms === this.#ms && counter > this.#counter)) [this.#ms, this.#counter] = [ms, counter];
  }
}
