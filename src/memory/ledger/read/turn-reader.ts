/** Reads the turns of conversations that showed drawers, and counts by week what came of it. Used by reader.ts. */
import type { HelpedWeek, ShownTurn, TurnFilter } from "../../port/outcome.ts";
import { isTexts, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { ANEW } from "../schema/conversation-schema.ts";

/** Character between a profile's key and a conversation's id (learning/memory/profiles.ts). */
const MARK = "char(31)";
/** Conversations of one profile. An id of the profile `default` has the mark at its beginning, or nowhere. */
const OF_PROFILE = `iif($prefix = '', instr(s.conversation, ${MARK}) <= 1, substr(s.conversation, 1, length($prefix)) = $prefix)`;
const SHOWN = `FROM shown s JOIN conversation c ON c.id = s.conversation
  WHERE s.id <> '${ANEW}' AND ${OF_PROFILE} AND ($conversation IS NULL OR s.conversation = $conversation)`;
/** The last outcome of a showing. A person names no conversation, so a person's word counts for the conversations before it. */
const LAST_OUTCOME = `(SELECT outcome FROM scored o WHERE o.id = s.id
  AND (o.conversation = s.conversation OR (o.source = 'user' AND o.conversation IS NULL AND o.at_ms >= c.at_ms))
  ORDER BY o.nth DESC LIMIT 1)`;

type Row = Omit<ShownTurn, "ids"> & { ids: string };

/** Returns a page of turns, the newest conversation first, and how many there are. */
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

/** Counts showings and their last outcomes by the week in which the conversation went on last, the oldest first. */
export function helpedByWeek(database: LedgerDatabase, prefix: string): HelpedWeek[] {
  return database
    .prepare<object, HelpedWeek>(
      `SELECT week, agent, count(*) AS shown, sum(last IS 'worked') AS worked, sum(last IS 'partial') AS partial,
           sum(last IS 'failed') AS failed
         FROM (SELECT date(c.at_ms / 1000, 'unixepoch', '-6 days', 'weekday 1') AS week, c.agent AS agent, ${LAST_OUTCOME} AS last ${SHOWN})
         GROUP BY week, agent ORDER BY week, agent`,
    )
    .all({ prefix, conversation: null });
}
