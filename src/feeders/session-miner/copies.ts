/** Finds the turns that a forked or resumed session of Claude Code or pi copied from another session. */
import { readText } from "../notes.ts";
import { parseJson } from "../../base/parse-json.ts";
import { fieldsOf, textOf } from "../fields.ts";
import type { Session, SessionHead } from "./session.ts";
import { stagedPath, type StageNotes } from "./staging-area.ts";

type Place = {
  home: string;
  notes: StageNotes;
  heads: ReadonlyMap<string, SessionHead>;
  /** Reads a session again, because a branch may have been abandoned since the staging. Undefined if the agent has no branches. */
  reread?: (head: SessionHead) => Session | undefined;
};

/** Finds the turns that another session has, too. Returns turn id → id of that session. `own`: id of the given session. */
export function copiesIn(
  { turns }: Session,
  own: string,
  { home, notes, heads, reread }: Place,
): ReadonlyMap<string, string> {
  const copies = new Map<string, string>();
  const first = turns[0]?.id ?? "";
  if (first === "") return copies;
  for (const [other, { first: begun, wing, file }] of Object.entries(notes.sessions)) {
    const head = heads.get(other);
    if (begun !== first || other === own || file === "" || head === undefined) continue;
    const held = idsIn(readText(stagedPath(home, wing, file)) ?? "");
    const kept = reread && new Set(reread(head)?.turns.map(({ id }) => id));
    for (const { id } of turns)
      if (!copies.has(id) && (held.has(id) || held.has(`${id}-0`)) && kept?.has(id) !== false) copies.set(id, other);
  }
  return copies;
}

/** Returns the ids of a transcript's lines. A user's line has the turn's id; an answer's first line has the turn's id with `-0`. */
function idsIn(transcript: string): Set<string> {
  return new Set(transcript.split("\n").map((line) => textOf(fieldsOf(parseJson(line))["uuid"])));
}
