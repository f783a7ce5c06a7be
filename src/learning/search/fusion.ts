/**
 * Fuses several lists of candidates into one by their ranks in the lists. ranking.ts then sorts the candidates by likeness and usefulness.
 * Pure. Source: outcome-memory.md 3.3.
 */
const CONSTANT = 60;

/** Returns the candidates of all lists, best first; candidates with equal scores are in the order of their first place in the lists. */
export function fuseByPlace<Id>(lists: readonly (readonly Id[])[]): { id: Id; score: number }[] {
  const scores = new Map<Id, number>();
  for (const list of lists)
    for (const [place, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (CONSTANT + place));
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score);
}
