/** The row formats of a standing (the sum of a drawer's outcomes) and of a single outcome. */
import { isRecord } from "../../base/parse-json.ts";
import type { OutcomeSource, PastOutcome, Scored, Standing, Telling } from "../port/outcome.ts";
import { isNumbers, readColumn } from "./json-column.ts";

export type StandingRecord = {
  id: string;
  score: number;
  uses: number;
  successes: number;
  last_used_ms: number | null;
  past: string;
};

export function toStanding({ score, uses, successes, last_used_ms, past }: StandingRecord): Standing {
  return { score, uses, successes, lastUsedMs: last_used_ms, past: readColumn("standing.past", past, isPast) };
}

export function isPast(value: unknown): value is PastOutcome[] {
  return Array.isArray(value) && value.every(isRecord);
}

export type ScoredRecord = {
  at_ms: number;
  outcome: string;
  source: string;
  weight: number;
  conversation: string | null;
  exchange: string | null;
} & QuestionRecord;

export const SCORED_OF = `SELECT s.at_ms, s.outcome, source, weight, conversation, exchange, context, collection, concepts
  FROM scored s LEFT JOIN question q ON q.id = s.id AND q.nth = s.nth WHERE s.id = ? ORDER BY s.nth`;

/** All three fields are null if the question is unknown. */
type QuestionRecord = { context: string | null; collection: string | null; concepts: string | null };

export function toScored(record: ScoredRecord): Scored {
  const { at_ms, outcome, source, context, collection, concepts, ...same } = record;
  const question = toQuestion({ context, collection, concepts });
  return { ...same, atMs: at_ms, outcome: outcome as Telling, source: source as OutcomeSource, question };
}

function toQuestion({ context, collection, concepts }: QuestionRecord): Scored["question"] {
  if (context === null || collection === null || concepts === null) return null;
  return { context, collection, concepts: readColumn("question.concepts", concepts, isNumbers) };
}
