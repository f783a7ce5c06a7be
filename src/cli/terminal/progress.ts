/** Shows the progress of a long command on stderr: a bar on a terminal, otherwise one line per step. */
import { printable, shorten } from "./output.ts";

const BAR_WIDTH = 24;
const REDRAW_MS = 50;

export class Progress {
  readonly #silent: boolean;
  readonly #isTerminal: boolean;
  #drawnAtMs = 0;
  #drawn = false;

  constructor({ silent }: { silent: boolean }) {
    this.#silent = silent;
    this.#isTerminal = process.stderr.isTTY;
  }

  step(done: number, total: number, name: string, line: string | undefined): void {
    if (this.#silent) return;
    if (!this.#isTerminal) {
      if (line !== undefined) process.stderr.write(`${printable(line)}\n`);
      return;
    }
    const now = Date.now();
    if (done < total && now - this.#drawnAtMs < REDRAW_MS) return;
    this.#drawnAtMs = now;
    this.#drawn = true;
    const filled = Math.round((BAR_WIDTH * done) / Math.max(total, 1));
    const bar = `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)} ${done}/${total} `;
    process.stderr.write(`\r\u001B[2K${bar}${shorten(name, (process.stderr.columns || 80) - bar.length - 1)}`);
  }

  end(): void {
    if (this.#drawn) process.stderr.write("\r\u001B[2K");
    this.#drawn = false;
  }
}
