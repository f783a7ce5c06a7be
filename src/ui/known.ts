/** Types of facts in the broker's answers, and the calls that load them. */
import { callTool } from "./client.ts";

export type Fact = {
  subject: string;
  predicate: string;
  object: string;
  valid_from: string | null;
  valid_to: string | null;
  current: boolean;
};

export type FactPage = { rows: Fact[]; total: number };

export async function listFacts(entity: string | undefined, offset: number, limit: number): Promise<FactPage> {
  const about = entity === undefined ? {} : { entity };
  const { timeline = [], total = 0 } = await callTool("kg_timeline", { ...about, offset, limit });
  return { rows: timeline as Fact[], total: Number(total) };
}

/** Maximum number of contradicting values of a relation. With more values the relation is a list, such as a person's friends. */
const RIVALS_MAX = 3;

/** Returns a function that tells whether a fact is valid and another valid fact contradicts it. */
export function rivalry(facts: readonly Fact[]): (fact: Fact) => boolean {
  const values = new Map<string, Set<string>>();
  const keyOf = ({ subject, predicate }: Fact) => JSON.stringify([subject, predicate]);
  for (const fact of facts)
    if (fact.current) values.set(keyOf(fact), (values.get(keyOf(fact)) ?? new Set()).add(fact.object));
  return (fact) => {
    const { size } = values.get(keyOf(fact)) ?? new Set();
    return fact.current && size > 1 && size <= RIVALS_MAX;
  };
}

export function heldAt({ valid_from: from, valid_to: to }: Fact, day: string): boolean {
  return (from === null || from.slice(0, 10) <= day) && (to === null || to.slice(0, 10) > day);
}
