/** Reads the turns in which conversations showed drawers, and counts their outcomes by week. Used by reader.ts. */
import type { HelpedWeek, ShownTurn, TurnFilter } from "../../port/outcome.ts";
import { isTexts, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { ANEW } from "../schema/outcome-schema.ts";

/** Character between a profile's key and a conversation's id (learning/memory/profiles.ts). */
const MARK = "char(31)";
/** Number of newest conversations that are read. The broker's other reads wait during that time. */
const CONVERSATIONS_MAX = 500;
/** SQL for the conversations of one profile. An id of the profile `default` begins with the mark or does not contain it. */
const OF_PROFILE = `iif($prefix = '', instr(id, ${MARK}) <= 1, substr(id, 1, length($prefix)) = $prefix)`;
const TALKS = `(SELECT id, agent, at_ms FROM conversation
  WHERE ${OF_PROFILE} AND ($conversation IS NULL OR id = $conversation) ORDER BY at_ms DESC LIMIT ${CONVERSATIONS_MAX})`;
const SHOWN = `FROM ${TALKS} c CROSS JOIN shown s ON s.conversation = c.id WHERE s.id <> '${ANEW}'`;
/** Last outcome of each drawer in each conversation. SQLite returns the row with the greatest `nth`. */
const IN_TALK =
  "SELECT id, conversation, outcome, max(nth) AS nth FROM scored WHERE conversation IS NOT NULL GROUP BY id, conversation";
/**
 * Last outcome that a person gave for each drawer. A person's outcome names no conversation: it counts for the conversations whose last
 * turn was before it.
 */
const OF_PERSON =
  "SELECT id, outcome, at_ms, max(nth) AS nth FROM scored WHERE source = 'user' AND conversation IS NULL GROUP BY id";

type Row = Omit<ShownTurn, "ids"> & { ids: string };

/** Returns a page of turns, the newest conversation first, and the number of all turns. */
export function turnPage(
  database: LedgerDatabase,
  { prefix, conversation: asked }: TurnFilter,
  limit: number,
  offset: number,
): { turns: ShownTurn[]; total: number } {
  const conversation = asked ?? null;
  const rows = database
    .prepare<object, Row>(
      `SELECT s.conversation, c.agent, s.turn, c.at_ms AS atMs, json_group_array(s.id ORDER BY s.id) AS ids ${SHOWN}
         GROUP BY s.conversation, s.turn ORDER BY c.at_ms DESC, s.conversation, s.turn DESC LIMIT $limit OFFSET $offset`,
    )
    .all({ prefix, conversation, limit, offset });
  const total = database
    .prepare<object, number>(`SELECT count(*) FROM (SELECT DISTINCT s.conversation, s.turn ${SHOWN})`)
    .pluck()
    .get({ prefix, conversation });
  return {
    turns: rows.map(({ ids, ...turn }) => ({ ...turn, ids: readColumn("shown.id", ids, isTexts) })),
    total: total ?? 0,
  };
}

/** Counts showings and their last outcomes by the week of the conversation's last turn, the oldest week first. */
export function helpedByWeek(database: LedgerDatabase, prefix: string): HelpedWeek[] {
  return database
    .prepare<object, HelpedWeek>(
      `WITH told AS MATERIALIZED (${IN_TALK}), said AS MATERIALIZED (${OF_PERSON})
         SELECT week, agent, count(*) AS shown, sum(last IS 'worked') AS worked, sum(last IS 'partial') AS partial,
           sum(last IS 'failed') AS failed
         FROM (SELECT date(one.at_ms / 1000, 'unixepoch', '-6 days', 'weekday 1') AS week, agent,
             iif(said.nth > ifnull(told.nth, -1), said.outcome, told.outcome) AS last
           FROM (SELECT s.id AS id, s.conversation AS conversation, c.agent AS agent, c.at_ms AS at_ms ${SHOWN}) one
           LEFT JOIN told ON told.id = one.id AND told.conversation = one.conversation
           LEFT JOIN said ON said.id = one.id AND said.at_ms >= one.at_ms)
         GROUP BY week, agent ORDER BY week, agent`,
    )
    .all({ prefix, conversation: null });
}
