/**
 * Asks an agent what became of its last answer and of the memories it was shown for it. Pure. Source: outcome-memory.md 6.4; tags, order
 * and call are contract, the sentences are ours.
 */
import { quoted } from "./injection.ts";

const TAG = "roampal-score-required";
const ANSWER_CHARACTERS = 300;
const MEMORY_CHARACTERS = 200;

export type Exchange = { user: string; assistant: string };
export type ToScore = { id: string; text: string };

const RUBRIC = [
  "• worked: the user takes the answer, or goes on to something else",
  "• failed: the user contradicts it, or asks the same again",
  "• partial: the user takes it with reservations",
  "• unknown: nothing tells",
];
const GUIDE = [
  "For each memory:",
  "• worked: it helped",
  "• partial: it helped a little",
  "• unknown: it was not used",
  "• failed: it misled; not used is no failure",
  "Score every id listed; others that you can see may be scored as well.",
];
const NOTE = 'Only for something worth keeping: record_response(key_takeaway="…")';

/** For Claude Code: in full, between tags. */
export function scoringPrompt({ user, assistant }: Exchange, memories: readonly ToScore[], message: string): string {
  const surfaced = memories.map(({ id, text }) => `• [${id}] "${quoted(text)}"`);
  return [
    `<${TAG}>`,
    "Before you answer, score the exchange before this message.",
    "",
    ...previous(user, assistant),
    ...(surfaced.length === 0 ? [] : ["Memories surfaced:", ...surfaced, ""]),
    `The user says now: "${quoted(message)}"`,
    "",
    "Judge by that:",
    ...RUBRIC,
    "",
    "Call this first:",
    `score_memories(outcome="…", memory_scores={${memories.map(({ id }) => ` "${id}": "___"`).join(",")}${memories.length === 0 ? "" : " "}})`,
    "",
    ...GUIDE,
    NOTE,
    `</${TAG}>`,
    "",
  ].join("\n");
}

/** For other models: without tags, with previews. */
export function plainScoringPrompt(
  { user, assistant }: Exchange,
  memories: readonly ToScore[],
  message: string,
): string {
  const surfaced = memories.map(({ id, text }) => `• [${id}] "${quoted(head(text, MEMORY_CHARACTERS))}"`);
  return [
    "Before you answer, call the tool score_memories for the exchange before this message.",
    "",
    ...previous(user, head(assistant, ANSWER_CHARACTERS)),
    "Memories surfaced:",
    ...(surfaced.length === 0 ? ["(none)"] : surfaced),
    "",
    `The user says now: "${quoted(message)}"`,
    "",
    ...RUBRIC,
    "",
    "outcome: worked, failed, partial or unknown",
    `memory_scores: {${memories.map(({ id }) => `"${id}": "___"`).join(", ")}}`,
    "",
    ...GUIDE,
    "",
  ].join("\n");
}

function previous(user: string, assistant: string): string[] {
  return ["Previous:", `• The user asked: "${quoted(user)}"`, `• You answered: "${quoted(assistant)}"`, ""];
}

function head(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters).toWellFormed()}…`;
}
