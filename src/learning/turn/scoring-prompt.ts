/** Asks an agent to score its last answer and the memories. Upstream prescribes only the tags and their order (outcome-memory.md 6.4). */
import type { Exchange } from "./exchange.ts";
import { quoted } from "./injection.ts";
import { plainId } from "../memory/memory.ts";

const TAG = "roampal-score-required";
const ANSWER_CHARACTERS = 300;
export const MEMORY_CHARACTERS = 200;
/** Total number of characters up to which the texts are quoted in full. */
const QUOTED_MAX = 2_000;

export type ToScore = { id: string; text: string };

const RUBRIC = [
  "• worked: the user accepts the answer, or goes on to something else",
  "• failed: the user contradicts the answer, or asks the same question again",
  "• partial: the user accepts the answer with reservations",
  "• unknown: the message does not show it",
];
const GUIDE = [
  "For each memory:",
  "• worked: it helped",
  "• partial: it helped a little",
  "• unknown: it was not used",
  "• failed: it misled you (a memory that you did not use has not failed)",
  "Score every id listed; others that you can see may be scored as well.",
];
const NOTE = 'Only for something worth keeping: record_response(key_takeaway="…")';

/** Returns the request for scores for Claude Code, between tags. It quotes long texts only in part. */
export function scoringPrompt(exchange: Exchange, memories: readonly ToScore[], message: string): string {
  const { user, assistant } = exchange;
  const said = [user, assistant, message, ...memories.map(({ text }) => text)];
  if (said.reduce((sum, { length }) => sum + length, 0) <= QUOTED_MAX) return fullPrompt(exchange, memories, message);
  return fullPrompt(
    { user: head(user, ANSWER_CHARACTERS), assistant: head(assistant, ANSWER_CHARACTERS) },
    memories.map(({ id, text }) => ({ id, text: head(text, MEMORY_CHARACTERS) })),
    head(message, ANSWER_CHARACTERS),
  );
}

function fullPrompt({ user, assistant }: Exchange, memories: readonly ToScore[], message: string): string {
  const surfaced = memories.map(({ id, text }) => `• [${plainId(id)}] ${said(text)}`);
  return [
    `<${TAG}>`,
    "Before you answer, score the exchange before this message.",
    "",
    ...previous(user, assistant),
    ...(surfaced.length === 0 ? [] : ["Memories surfaced:", ...surfaced, ""]),
    `The user says now: ${said(message)}`,
    "",
    "Judge by that:",
    ...RUBRIC,
    "",
    "Call this first:",
    `score_memories(outcome="…", memory_scores={${memories.map(({ id }) => ` "${plainId(id)}": "___"`).join(",")}${memories.length === 0 ? "" : " "}})`,
    "",
    ...GUIDE,
    NOTE,
    `</${TAG}>`,
    "",
  ].join("\n");
}

/** Returns the request for scores for other models: without tags, and with only the beginnings of texts. */
export function plainScoringPrompt(
  { user, assistant }: Exchange,
  memories: readonly ToScore[],
  message: string,
): string {
  const surfaced = memories.map(({ id, text }) => `• [${plainId(id)}] ${said(head(text, MEMORY_CHARACTERS))}`);
  return [
    "Before you answer, call the tool score_memories for the exchange before this message.",
    "",
    ...previous(head(user, ANSWER_CHARACTERS), head(assistant, ANSWER_CHARACTERS)),
    "Memories surfaced:",
    ...(surfaced.length === 0 ? ["(none)"] : surfaced),
    "",
    `The user says now: ${said(head(message, ANSWER_CHARACTERS))}`,
    "",
    ...RUBRIC,
    "",
    "outcome: worked, failed, partial or unknown",
    `memory_scores: {${memories.map(({ id }) => `"${plainId(id)}": "___"`).join(", ")}}`,
    "",
    ...GUIDE,
    "",
  ].join("\n");
}

function previous(user: string, assistant: string): string[] {
  return ["Previous:", `• The user asked: ${said(user)}`, `• You answered: ${said(assistant)}`, ""];
}

/** Quotes a text so that none of its characters ends the quotation. */
function said(text: string): string {
  return `"${quoted(text).replaceAll('"', "”")}"`;
}

export function head(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters).toWellFormed()}…`;
}
