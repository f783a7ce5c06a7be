/** Finds the time of each part of a transcript, so that old parts keep their times when the transcript grows. */

/** Position at which a part of a text begins, and the part's time: "" if unknown. */
export type Time = [start: number, at: string];

/** White space. `timesOf` ignores it, because cutting a text into drawers may drop white space at a cut. */
const WHITE = /[\s\x1c-\x1f\x85]+/g;

/** Returns a time as text: a string unchanged, and s or ms since the epoch as ISO 8601. Undefined if the value is not a time. */
export function timeIn(value: unknown): string | undefined {
  if (typeof value === "string") return Number.isNaN(Date.parse(value)) ? undefined : value;
  if (typeof value !== "number" || value <= 0) return undefined;
  const date = new Date(value < SECONDS_MAX ? value * 1000 : value);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Limit between seconds and milliseconds: as seconds, a larger number would be after the year 5138. */
const SECONDS_MAX = 1e11;

export function newer(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Date.parse(other) > Date.parse(one) ? other : one;
}

/** Returns the time of each drawer's beginning; undefined if no time is known. The drawers joined are the text, except white space. */
export function timesOf(
  text: string,
  times: readonly Time[],
  drawers: readonly string[],
): (string | null)[] | undefined {
  if (!times.some(([, at]) => at !== "")) return undefined;
  const dense = squeeze(text);
  let [done, position] = [0, 0];
  const starts = times.map(([start]) => {
    position += squeeze(text.slice(done, start)).length;
    done = start;
    return position;
  });
  let [cursor, at] = [0, 0];
  return drawers.map((drawer) => {
    const part = squeeze(drawer);
    const found = Math.max(dense.indexOf(part, cursor), cursor);
    while (at + 1 < times.length && (starts[at + 1] ?? 0) <= found) at += 1;
    cursor = found + part.length;
    return times[at]?.[1] || null;
  });
}

function squeeze(text: string): string {
  return text.replace(WHITE, "");
}
