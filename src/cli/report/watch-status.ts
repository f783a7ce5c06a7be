/** Shows a report every second until Ctrl-C: in place on a terminal, else only the changed rows. Used by `palace status --watch`. */
import { setTimeout as sleep } from "node:timers/promises";
import { withInterrupt } from "../feeding/feeding.ts";
import { alignRows, endWithReader, type Output } from "../terminal/output.ts";

/** One state of the watched report. `same`: equal for two states that differ only in times. */
export type Look = { document: object; rows: readonly (readonly [string, string])[]; same: readonly string[] };

const WATCH_MS = 1_000;
const HOME = "\u001B[H";
const CLEAR = "\u001B[2J";
const CLEAR_LINE = "\u001B[K";
const CLEAR_BELOW = "\u001B[J";

/** Calls `look` every second. Returns exit code 0 after Ctrl-C, and passes the errors of `look` on. */
export async function watch(out: Output, look: () => Promise<Look>): Promise<number> {
  await endWithReader();
  return withInterrupt(
    async (signal) => {
      let last: readonly string[] | undefined;
      const isDrawn = out.isTerminal && !out.isJson;
      while (!signal.aborted) {
        const now = await look();
        if (isDrawn) draw(now, last === undefined, out.columns);
        else if (last?.join("\n") !== now.same.join("\n")) tellChange(out, now, last ?? []);
        last = now.same;
        await sleep(WATCH_MS, undefined, { signal }).catch(() => {});
      }
      return 0;
    },
    { onStop: () => {} },
  );
}

/** Draws the rows over the previous ones. A line that is wider than the terminal is cut, because a wrapped line would move the others. */
function draw({ rows }: Look, isFirst: boolean, columns: number): void {
  const height = process.stdout.rows || Infinity;
  const lines = alignRows(rows).map((line) => Array.from(line).slice(0, columns).join("") + CLEAR_LINE);
  const shown = lines.slice(0, Math.max(height - 2, 1));
  const end = `${CLEAR_LINE}\nCtrl-C ends this.${CLEAR_LINE}${CLEAR_BELOW}`;
  process.stdout.write(`${isFirst ? CLEAR : ""}${HOME}${shown.join("\n")}\n${end}\r`);
}

/** Prints one document, or a line with the time for each row that changed. */
function tellChange(out: Output, { document, rows, same }: Look, before: readonly string[]): void {
  if (out.isJson) return void out.document(document);
  const known = new Set(before);
  const at = new Date().toISOString();
  out.table(rows.filter((_row, nth) => !known.has(same[nth] ?? "")).map(([name, value]) => [at, name, value]));
}
