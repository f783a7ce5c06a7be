/** Progress and cancellation of a long job on a worker thread. */
import { setImmediate as turn } from "node:timers/promises";
import { PalaceError } from "./errors.ts";

export type Progress = { step: string; done: number; total: number };

export const STARTING: Progress = { step: "starting", done: 0, total: 0 };

export class Steps {
  progress = STARTING;
  #cancelled = false;

  cancel(): void {
    this.#cancelled = true;
  }

  /** Reports progress and lets the thread answer other calls. Errors: BROKER_CANCELLED. */
  async step(step: string, done: number, total: number): Promise<void> {
    this.progress = { step, done, total };
    await turn();
    if (this.#cancelled) throw new PalaceError("BROKER_CANCELLED", "it was cancelled; nothing was changed", "");
  }
}
