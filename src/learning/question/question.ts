/** Reduces a question to its topic and a hash of each concept, because only drawers may store words (outcome-memory.md 8.2, 8.4, 8.8). */
import type { Question } from "../../memory/port/outcome.ts";
import { sha256Hex } from "../../memory/text/text.ts";
import { concepts } from "./concepts.ts";
import { contextType } from "./context-type.ts";

/** Maximum characters to read from a question. The rest of a longer one, often a log, does not help. */
const CHARACTERS_MAX = 1_000;
const CONCEPTS_MAX = 24;
/** Hexadecimal digits of a concept's hash. Their 52 bits are an exact number in JSON and SQLite. */
const HEX_DIGITS = 13;

/** Returns undefined for a text without concepts. */
export function questionOf(text: string): Question | undefined {
  const asked = askedIn(text);
  const words = keptConcepts(asked);
  return words.length === 0 ? undefined : { context: contextType(asked), concepts: words.map(conceptNumber) };
}

export function askedIn(text: string): string {
  return text.slice(0, CHARACTERS_MAX);
}

/** Returns the concepts to store, single words first: a reworded question repeats single words more often than sequences of words. */
export function keptConcepts(text: string): string[] {
  const wordsIn = (concept: string): number => concept.split("_").length;
  return concepts(text)
    .sort((a, b) => wordsIn(a) - wordsIn(b))
    .slice(0, CONCEPTS_MAX);
}

export function conceptNumber(concept: string): number {
  return Number.parseInt(sha256Hex(concept).slice(0, HEX_DIGITS), 16);
}
