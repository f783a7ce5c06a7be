/** Guesses a conversation's topic, by which outcomes are counted. Pure. Source: outcome-memory.md 8.8. */

const KEYWORDS = {
  coding: "code function class error debug api database python javascript typescript react git build test",
  fitness: "workout exercise gym weight muscle cardio diet protein calories",
  finance: "money budget invest stock savings expense income tax",
  learning: "learn study course book tutorial understand concept",
  writing: "write essay article blog content draft edit",
} as const;
export type ContextType = keyof typeof KEYWORDS | "general";

const LISTS = Object.entries(KEYWORDS).map(([name, words]) => [name as ContextType, words.split(" ")] as const);

/** Returns the topic with the most keywords in the text, also within longer words; the first one if several have equally many. */
export function contextType(text: string): ContextType {
  const lower = text.toLowerCase();
  let [best, most]: [ContextType, number] = ["general", 0];
  for (const [name, words] of LISTS) {
    const count = words.filter((word) => lower.includes(word)).length;
    if (count > most) [best, most] = [name, count];
  }
  return best;
}
