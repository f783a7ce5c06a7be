/** The row formats of a standing (the sum of a drawer's outcomes) and of a single outcome. */
import { isRecord } from "../../base/parse-json.ts";
import type { PastOutcome, Scored, Standing } from "../port/outcome.ts";
import { isNumbers, readColumn } from "./json-column.ts";

export type StandingRecord = Pick<Standing, "score" | "uses" | "successes"> & {
  id: string;
  last_used_ms: number | null;
  past: string;
};

export function toStanding({ score, uses, successes, last_used_ms, past }: StandingRecord): Standing {
  return { score, uses, successes, lastUsedMs: last_used_ms, past: readColumn("standing.past", past, isPast) };
}

export function isPast(value: unknown): value is PastOutcome[] {
  return Array.isArray(value) && value.every(isRecord);
}

export type ScoredRecord = Omit<Scored, "atMs" | "question"> & { at_ms: number } & QuestionRecord;

export const SCORED_OF = `SELECT s.at_ms, s.outcome, source, weight, conversation, exchange, context, collection, concepts
  FROM scored s LEFT JOIN question q ON q.id = s.id AND q.nth = s.nth WHERE s.id = ? ORDER BY s.nth`;

/** All three fields are null if the question is unknown. */
type QuestionRecord = { context: string | null; collection: string | null; concepts: string | null };

export function toScored(record: ScoredRecord): Scored {
  const { at_ms, outcome, source, context, collection, concepts, ...same } = record;
  const question = toQuestion({ context, collection, concepts });
  return { ...same, atMs: at_ms, outcome, source, question };
}

function toQuestion({ context, collection, concepts }: QuestionRecord): Scored["question"] {
  if (context === null || collection === null || concepts === null) return null;
  return { context, collection, concepts: readColumn("question.concepts", concepts, isNumbers) };
}
