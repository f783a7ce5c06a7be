/** Reads the outcomes of memories by question. Only the newest outcomes of a concept or kind of conversation are read, for speed. */
import type { Answered, Told } from "../../port/outcome.ts";
import { isNumbers, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { selectRows } from "../select.ts";

/** Maximum number of outcomes per concept. Ten outcomes of a collection are enough to choose it (learning/search/routing.ts). */
const OF_CONCEPT_MAX = 40;
const OF_CONTEXT_MAX = 200;

type AnsweredRecord = Omit<Answered, "atMs" | "concepts"> & { nth: number; at_ms: number; concepts: string };
type Count = { outcome: string; count: number };

export function answeredAlike(
  database: LedgerDatabase,
  concepts: readonly number[],
  collections?: readonly string[],
): Answered[] {
  const only = collections === undefined ? null : JSON.stringify(collections);
  const ofConcept = database.prepare<{ concept: number; only: string | null }, AnsweredRecord>(
    `SELECT q.* FROM question_concept c CROSS JOIN question q ON q.id = c.id AND q.nth = c.nth
       WHERE c.concept = @concept AND (@only IS NULL OR q.collection IN (SELECT value FROM json_each(@only)))
       ORDER BY c.at_ms DESC, c.id DESC, c.nth DESC LIMIT ${OF_CONCEPT_MAX}`,
  );
  const found = new Map<string, Answered>();
  for (const concept of concepts)
    for (const { nth, at_ms, outcome, ...same } of ofConcept.iterate({ concept, only })) {
      const name = `${nth} ${same.id}`;
      if (found.has(name)) continue;
      const known = readColumn("question.concepts", same.concepts, isNumbers);
      found.set(name, { ...same, concepts: known, outcome, atMs: at_ms });
    }
  return [...found.values()];
}

export function toldOf(database: LedgerDatabase, ids: readonly string[]): Map<string, Told> {
  const sql = `SELECT id, outcome, count(*) AS count FROM question
    WHERE id IN (SELECT value FROM json_each(?)) GROUP BY id, outcome`;
  const rows = selectRows<Count & { id: string }>(database, sql, JSON.stringify(ids));
  const told = new Map<string, Count[]>();
  for (const { id, ...count } of rows) told.set(id, [...(told.get(id) ?? []), count]);
  return new Map([...told].map(([id, counts]) => [id, summed(counts)]));
}

export function toldIn(database: LedgerDatabase, context: string, collection: string): Told {
  const sql = `SELECT outcome, count(*) AS count FROM (SELECT outcome FROM question
    WHERE context = ? AND collection = ? ORDER BY at_ms DESC LIMIT ?) GROUP BY outcome`;
  return summed(selectRows<Count>(database, sql, context, collection, OF_CONTEXT_MAX));
}

function summed(counts: readonly Count[]): Told {
  return { worked: 0, failed: 0, partial: 0, ...Object.fromEntries(counts.map((one) => [one.outcome, one.count])) };
}
