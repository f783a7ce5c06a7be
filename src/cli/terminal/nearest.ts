/** Guesses the word that a user meant. Pure. Imported by palace.ts and the verbs that take names. */

const DISTANCE_MAX = 2;

/** Returns the nearest candidate, if it is near enough. */
export function nearestWord(word: string, candidates: readonly string[]): string | undefined {
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const isStart = word.length > 1 && candidate.startsWith(word);
    const distance = isStart ? 0 : editDistance(word.slice(0, 64), candidate);
    if (distance < (best?.distance ?? Math.min(DISTANCE_MAX, candidate.length - 1) + 1)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Counts the insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(left: string, right: string): number {
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= left.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const above = rows[i - 1] ?? [];
      const isSame = left[i - 1] === right[j - 1];
      let least = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + (isSame ? 0 : 1));
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      if (isSwap) least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[left.length]?.[right.length] ?? 0;
}
