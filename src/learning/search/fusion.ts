/**
 * Fuses several lists of candidates into one by place. Likeness and usefulness order the candidates afterwards (ranking.ts). Pure.
 * Source: outcome-memory.md 3.3.
 */
const CONSTANT = 60;

/** Best first, of all lists together; equal ones in the order in which they were first seen. */
export function fuseByPlace<Id>(lists: readonly (readonly Id[])[]): { id: Id; score: number }[] {
  const scores = new Map<Id, number>();
  for (const list of lists)
    for (const [place, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (CONSTANT + place));
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score);
}
