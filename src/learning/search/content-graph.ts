/** Boosts memories that share entities with a question, by the quality of facts that name these entities (outcome-memory.md 2.9, 8.6). */
import { wordsOf } from "../question/concepts.ts";
import type { Collection, Weight } from "../memory/memory.ts";
import { askedIn, keptConcepts } from "../question/question.ts";
import { quality } from "./ranking.ts";

/** Boost for one shared entity, times the quality of its facts. Roampal's 0.5 is too much here, because ranking.ts amplifies the boost. */
const BOOST_PART = 0.2;
const BOOST_MAX = 0.1;
const NUMBER = /^\d+$/;
/** Maximum number of characters to read of each text, because its beginning shows the subject. */
const READ_CHARACTERS = 300;
const FACTS_MAX = 20;
/** Maximum number of candidates with a boost, nearest first, so that no boost lifts a distant candidate to the front. */
const FOUND_MAX = 40;

const NOTHING = { mentions: 0, quality: 0 };

type Found = { collection: Collection; text: string; weight: Weight };

/** Returns the boosts of the candidates, in their order; 1 if no fact names an entity of the question. */
export function entitiesNamed(query: string, found: readonly Found[]): number[] {
  const facts = found.filter(({ collection }) => collection === "memory_bank").slice(0, FACTS_MAX);
  if (facts.length === 0) return found.map(() => 1);
  const asked = keptConcepts(askedIn(query)).filter((concept) => !NUMBER.test(concept));
  const qualities = new Map<string, { mentions: number; quality: number }>();
  for (const { text, weight } of facts)
    for (const entity of sharedWith(asked, text)) {
      const { mentions, quality: sum } = qualities.get(entity) ?? { mentions: 0, quality: 0 };
      qualities.set(entity, { mentions: mentions + 1, quality: sum + quality(weight) });
    }
  const known = [...qualities.keys()];
  if (known.length === 0) return found.map(() => 1);
  return found.map(({ text }, at) =>
    at >= FOUND_MAX
      ? 1
      : entityBoost(sharedWith(known, text).map((entity) => averageQuality(qualities.get(entity) ?? NOTHING))),
  );
}

/** Returns the entities that occur at the beginning of the text, with their words next to each other. */
function sharedWith(entities: readonly string[], text: string): string[] {
  const words = `_${wordsOf(text.slice(0, READ_CHARACTERS)).join("_")}_`;
  return entities.filter((entity) => words.includes(`_${entity}_`));
}

function averageQuality({ mentions, quality }: { mentions: number; quality: number }): number {
  return mentions === 0 ? 0 : quality / mentions;
}

export function entityBoost(qualities: readonly number[]): number {
  return 1 + Math.min(BOOST_PART * qualities.reduce((sum, one) => sum + one, 0), BOOST_MAX);
}
