/**
 * What is kept of a question: what kind of talk it is of, and numbers that stand for its concepts, since the ledger holds no words but
 * those of drawers. Pure. Source: outcome-memory.md 8.2, 8.4, 8.8.
 */
import type { Question } from "../../port/outcome.ts";
import { sha256Hex } from "../text/text.ts";
import { concepts } from "./concepts.ts";
import { contextType } from "./context-type.ts";

/** Of a question; a pasted log says no more of what is asked. */
const CHARACTERS_MAX = 1_000;
const CONCEPTS_MAX = 24;
/** 52 bits: every number is exact in JSON and in a row. */
const HEX_DIGITS = 13;

/** Undefined for a text without a concept. */
export function questionOf(text: string): Question | undefined {
  const asked = askedIn(text);
  const words = keptConcepts(asked);
  return words.length === 0 ? undefined : { context: contextType(asked), concepts: words.map(conceptNumber) };
}

/** What is read of a text that asks something. */
export function askedIn(text: string): string {
  return text.slice(0, CHARACTERS_MAX);
}

/** Single words first: they are met again in other words around them. */
export function keptConcepts(text: string): string[] {
  const wordsIn = (concept: string): number => concept.split("_").length;
  return concepts(text)
    .sort((a, b) => wordsIn(a) - wordsIn(b))
    .slice(0, CONCEPTS_MAX);
}

export function conceptNumber(concept: string): number {
  return Number.parseInt(sha256Hex(concept).slice(0, HEX_DIGITS), 16);
}
