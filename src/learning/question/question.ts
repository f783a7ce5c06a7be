/**
 * Reduces a question to its stored form: the conversation's topic, and a number for each concept, because the ledger stores no words
 * except those of drawers. Pure. Source: outcome-memory.md 8.2, 8.4, 8.8.
 */
import type { Question } from "../../memory/port/outcome.ts";
import { sha256Hex } from "../../memory/text/text.ts";
import { concepts } from "./concepts.ts";
import { contextType } from "./context-type.ts";

/** Maximum number of characters to read from a question. The rest of a long question, such as a log, does not help. */
const CHARACTERS_MAX = 1_000;
const CONCEPTS_MAX = 24;
/** Number of hexadecimal digits: 52 bits, so that every number is exact in JSON and in a row. */
const HEX_DIGITS = 13;

/** Returns the stored form of a question; undefined for a text without a concept. */
export function questionOf(text: string): Question | undefined {
  const asked = askedIn(text);
  const words = keptConcepts(asked);
  return words.length === 0 ? undefined : { context: contextType(asked), concepts: words.map(conceptNumber) };
}

/** Returns the beginning of a question, which is the part that is read. */
export function askedIn(text: string): string {
  return text.slice(0, CHARACTERS_MAX);
}

/** Returns the concepts to keep, single words first, because other wordings repeat single words more often than runs of words. */
export function keptConcepts(text: string): string[] {
  const wordsIn = (concept: string): number => concept.split("_").length;
  return concepts(text)
    .sort((a, b) => wordsIn(a) - wordsIn(b))
    .slice(0, CONCEPTS_MAX);
}

export function conceptNumber(concept: string): number {
  return Number.parseInt(sha256Hex(concept).slice(0, HEX_DIGITS), 16);
}
