/** Finds the words that a user probably meant. */

const DISTANCE_MAX = 2;

export function nearestWord(word: string, candidates: readonly string[], max = DISTANCE_MAX): string | undefined {
  return nearWords(word, candidates, max)[0];
}

/** Returns the candidates within `max` edits of the typed word, most similar first. A beginning of a candidate counts as 0 edits. */
export function nearWords(word: string, candidates: readonly string[], max = DISTANCE_MAX): string[] {
  const typed = word.slice(0, 64);
  return candidates
    .map((candidate) => ({ candidate, distance: distanceOf(word, typed, candidate) }))
    .filter(({ candidate, distance }) => distance <= Math.min(max, candidate.length - 1))
    .sort((a, b) => a.distance - b.distance)
    .map(({ candidate }) => candidate);
}

function distanceOf(word: string, typed: string, candidate: string): number {
  if (word.length > 1 && candidate.startsWith(word)) return 0;
  // Each edit changes the length by at most one letter, so words of very different lengths need no count of edits.
  return Math.abs(typed.length - candidate.length) > DISTANCE_MAX ? Infinity : editDistance(typed, candidate);
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
