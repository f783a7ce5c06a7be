/** Fuses several lists of candidates into one by their ranks in the lists (outcome-memory.md 3.3). Pure. */
const CONSTANT = 60;

/** Returns the candidates of all lists, best first. Candidates with equal scores stay in the order in which the lists have them. */
export function fuseByPlace<Id>(lists: readonly (readonly Id[])[]): { id: Id; score: number }[] {
  const scores = new Map<Id, number>();
  for (const list of lists)
    for (const [place, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (CONSTANT + place));
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score);
}
