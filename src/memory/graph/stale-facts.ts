/** Finds drawers that state an ended fact. A drawer states a fact if it contains the names of the fact's subject and object. */
import type { GraphReader, NamedFact } from "../port/graph.ts";
import { entityId } from "../text/text.ts";
import { isOver, type Now, startsAfter } from "./temporal.ts";

/** Factor on the score of a drawer that states an ended fact. */
export const STALE_FACTOR = 0.6;

export type StaleFact = {
  fact: string;
  ended: string;
  /** True if the drawer also names the object of the current fact. The drawer then describes the change and is not out of date. */
  isReplaced: boolean;
};

/** Number of characters of a text that are read; the rest is ignored. */
const TEXT_MAX = 10_000;
const NAME_WORDS_MAX = 3;
/** Maximum number of ended facts examined for one subject, the latest first. */
const ENDED_MAX = 100;
const STALE_SHOWN_MAX = 3;

/** Returns, for each text, the facts that the text states and that have ended by `now`. */
export function staleFactsIn(graph: GraphReader, texts: readonly string[], now: Now): StaleFact[][] {
  if (!graph.hasFacts()) return texts.map(() => []);
  const read = texts.map(readWords);
  const named = graph.entitiesAmong([...new Set(read.flatMap(({ ids }) => [...ids]))]);
  const endedOf = (subject: string): NamedFact[] =>
    graph.endedFacts(subject, ENDED_MAX).filter((fact) => isOver(fact, now));
  const ended = new Map(named.map((subject) => [subject, endedOf(subject)]));
  const current = new Map<string, NamedFact[]>();
  const currentOf = ({ subject, predicate }: NamedFact): NamedFact[] => {
    const name = JSON.stringify([subject, predicate]);
    let facts = current.get(name);
    if (facts === undefined) {
      facts = graph
        .factsWith(subject, predicate, ENDED_MAX)
        .filter((one) => !startsAfter(one, now.moment) && !isOver(one, now));
      current.set(name, facts);
    }
    return facts;
  };
  return read.map(({ ids, plain }) => {
    const holds = (name: string): boolean => plain.includes(plainText(name));
    const stale = [...ids]
      .flatMap((id) => ended.get(id) ?? [])
      .filter((fact) => holds(fact.objectName))
      .flatMap((fact) => {
        const holding = currentOf(fact);
        if (holding.some((one) => one.object === fact.object)) return [];
        return [
          {
            fact: `${fact.subjectName} → ${fact.predicate} → ${fact.objectName}`,
            ended: fact.validTo ?? "",
            isReplaced: holding.some((one) => holds(one.objectName)),
          },
        ];
      });
    return [...new Map(stale.map((one) => [one.fact, one])).values()].slice(0, STALE_SHOWN_MAX);
  });
}

/** Reads a text. `plain` has its words with a space around each, `ids` the entity ids of all runs of up to `NAME_WORDS_MAX` words. */
function readWords(text: string): { plain: string; ids: Set<string> } {
  const plain = plainText(text.slice(0, TEXT_MAX));
  const words = plain.trim().split(" ");
  const ids = new Set<string>();
  words.forEach((_, at) => {
    for (let count = 1; count <= NAME_WORDS_MAX && at + count <= words.length; count++)
      ids.add(entityId(words.slice(at, at + count).join(" ")));
  });
  return { plain, ids };
}

/** Returns the words in lower case, without surrounding punctuation and without a final 's. */
function plainText(text: string): string {
  const words = text
    .toLowerCase()
    .split(/[\s_]+/u)
    .map((word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}+#]+$/gu, "").replace(/['’]s$/u, ""))
    .filter((word) => word !== "");
  return ` ${words.join(" ")} `;
}

/** Returns the first ended fact whose successor the text does not name. */
export function worstOf(stale: readonly StaleFact[]): StaleFact | undefined {
  return stale.find(({ isReplaced }) => !isReplaced);
}
