/** Reads the turns in which drawers were shown, and counts outcomes. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { HelpedWeek, ShownTurn, Telling, Told, TurnFilter } from "../../port/outcome.ts";
import { isTexts, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { ANEW } from "../schema/outcome-schema.ts";
import { selectRows } from "../select.ts";

/** Character between a profile's key and a conversation's id (learning/memory/profiles.ts). */
const MARK = "char(31)";
/** Maximum number of conversations to read, newest first. The broker's other reads wait for the query. */
const CONVERSATIONS_MAX = 500;
/** Selects the conversations of one profile. An id of the profile `default` begins with `MARK` or does not contain it. */
const OF_PROFILE = `iif($prefix = '', instr(id, ${MARK}) <= 1, substr(id, 1, length($prefix)) = $prefix)`;
const TALKS = `(SELECT id, agent, at_ms FROM conversation
  WHERE ${OF_PROFILE} AND ($conversation IS NULL OR id = $conversation) ORDER BY at_ms DESC LIMIT ${CONVERSATIONS_MAX})`;
const SHOWN = `FROM shown WHERE conversation = ? AND id <> '${ANEW}'`;
/** An outcome from a person has no conversation. It counts for all conversations whose last turn was before the outcome. */
const LAST_OUTCOMES = `SELECT (SELECT outcome FROM scored WHERE scored.id = shown.id
    AND (scored.conversation = shown.conversation OR (scored.conversation IS NULL AND source = 'user' AND at_ms >= ?))
    ORDER BY nth DESC LIMIT 1) ${SHOWN}`;
/** Number of conversations, or of outcomes, read in one step of about 3 ms. Other calls run between the steps. */
const TALKS_AT_ONCE = 20;
const OUTCOMES_AT_ONCE = 5_000;

type Talk = Pick<ShownTurn, "conversation" | "agent" | "atMs"> & { turns: number };

export function turnPage(
  database: LedgerDatabase,
  { prefix, conversation: asked }: TurnFilter,
  limit: number,
  offset: number,
): { turns: ShownTurn[]; total: number } {
  const sql = `SELECT id AS conversation, agent, at_ms AS atMs,
      (SELECT count(DISTINCT turn) FROM shown WHERE conversation = talk.id AND id <> '${ANEW}') AS turns
    FROM ${TALKS} talk ORDER BY at_ms DESC, id`;
  const talks = selectRows<Talk>(database, sql, { prefix, conversation: asked ?? null });
  const turnsOf = database.prepare<[string], { turn: number; ids: string }>(
    `SELECT turn, json_group_array(id ORDER BY id) AS ids ${SHOWN} GROUP BY turn ORDER BY turn DESC`,
  );
  const page: ShownTurn[] = [];
  let total = 0;
  for (const { turns, ...talk } of talks) {
    const [from, to] = [Math.max(offset - total, 0), Math.min(offset + limit - total, turns)];
    if (from < to)
      for (const { turn, ids } of turnsOf.all(talk.conversation).slice(from, to))
        page.push({ ...talk, turn, ids: readColumn("shown.id", ids, isTexts) });
    total += turns;
  }
  return { turns: page, total };
}

/** Counts shown drawers and their last outcomes, by agent and by week of the conversation's last turn. Other calls run in between. */
export async function helpedByWeek(database: LedgerDatabase, prefix: string): Promise<HelpedWeek[]> {
  const talks = selectRows<{ id: string; agent: string; atMs: number; week: string }>(
    database,
    `SELECT id, agent, at_ms AS atMs, date(at_ms / 1000, 'unixepoch', '-6 days', 'weekday 1') AS week FROM ${TALKS}`,
    { prefix, conversation: null },
  );
  const outcomes = database.prepare<[number, string], Telling | null>(LAST_OUTCOMES).pluck();
  const weeks = new Map<string, HelpedWeek>();
  for (const [at, { id, agent, atMs, week }] of talks.entries()) {
    if (at % TALKS_AT_ONCE === TALKS_AT_ONCE - 1) await nextTurn();
    const name = JSON.stringify([week, agent]);
    const sum = weeks.get(name) ?? { week, agent, shown: 0, worked: 0, partial: 0, failed: 0 };
    for (const outcome of outcomes.all(atMs, id)) {
      sum.shown += 1;
      if (outcome !== null) sum[outcome] += 1;
    }
    if (sum.shown > 0) weeks.set(name, sum);
  }
  return [...weeks].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

/** Counts the outcomes since `atMs`. Other calls run in between. */
export async function toldSince(database: LedgerDatabase, atMs: number): Promise<Told> {
  const told = { worked: 0, partial: 0, failed: 0 };
  const upTo = database
    .prepare<[string], string | null>(
      `SELECT max(id) FROM (SELECT id FROM scored WHERE id > ? ORDER BY id LIMIT ${OUTCOMES_AT_ONCE})`,
    )
    .pluck();
  const counts = database.prepare<[string, string, number], { outcome: Telling; told: number }>(
    "SELECT outcome, count(*) AS told FROM scored WHERE id > ? AND id <= ? AND at_ms >= ? GROUP BY outcome",
  );
  for (let after = "", last = upTo.get(after); typeof last === "string"; last = upTo.get(after)) {
    for (const { outcome, told: count } of counts.all(after, last, atMs)) told[outcome] += count;
    after = last;
    await nextTurn();
  }
  return told;
}
