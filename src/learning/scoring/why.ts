/** Explains a memory's score to a person: its outcomes, its former collections, and the conversations in which it was shown. */
import type { MemoryReader } from "../../memory/port/memory.ts";
import type { PastOutcome, Scored } from "../../memory/port/outcome.ts";
import { staleFactsIn, worstOf } from "../../memory/graph/stale-facts.ts";
import { nowAt } from "../../memory/graph/temporal.ts";
import type { MemoryStats, MemoryTold, MemoryWhy } from "../../protocol/outcome.ts";
import { solutionsOf } from "../search/known-solutions.ts";
import { COLLECTIONS } from "../memory/memory.ts";
import { ARCHIVE_ROOM, findShown, isoTime, MEMORY_WING, records, toMemory } from "../memory/as-drawer.ts";
import { wilson } from "./wilson.ts";

const SHOWN_MAX = 20;

/** Explains a memory. `id` may be any id under which the memory was shown, or the id of a scored drawer. */
export function why(reader: MemoryReader, id: string, nowMs: number): MemoryWhy {
  const drawer = findShown(reader, id);
  if (drawer === undefined) return { found: false };
  const standing = reader.standings([drawer.id]).get(drawer.id);
  const memory = toMemory(drawer, standing);
  const over = worstOf(staleFactsIn(reader.graph, [drawer.text], nowAt(nowMs))[0] ?? []);
  const { score, uses, successes, past } = memory?.standing ??
    standing ?? { score: null, uses: 0, successes: 0, past: [] };
  const scored = reader.scored(drawer.id);
  return {
    ...{
      found: true,
      id: memory?.id ?? drawer.id,
      drawer: drawer.id,
      wing: drawer.wing,
      room: drawer.room,
      text: drawer.text,
    },
    ...{ score, uses, successes, proven: uses === 0 ? null : Number(wilson(successes, uses).toFixed(2)) },
    outcomes: outcomesOf(past, scored),
    questions: questionsOf(drawer.id, scored),
    over: over === undefined ? null : { fact: over.fact, ended: over.ended },
    moves: records(drawer.metadata["promotion_history"]) as MemoryTold["moves"],
    shownIn: reader.showings(drawer.id, SHOWN_MAX),
  };
}

/** Lists the outcomes. `by` is null for an old outcome whose source the ledger did not record. */
function outcomesOf(past: readonly PastOutcome[], scored: readonly Scored[]): MemoryTold["outcomes"] {
  const sinceMs = scored[0]?.atMs ?? Infinity;
  const older = past.filter(({ atMs }) => atMs < sinceMs);
  return [
    ...older.map(({ atMs, outcome, reason }) => ({ at: isoTime(atMs), outcome, reason, by: null, weight: null })),
    ...scored.map(({ atMs, outcome, source, weight }) => ({
      ...{ at: isoTime(atMs), outcome, reason: null, by: source, weight },
    })),
  ];
}

function questionsOf(id: string, scored: readonly Scored[]): MemoryTold["questions"] {
  const answered = scored.flatMap(({ question, outcome, atMs }) =>
    question === null ? [] : [{ ...question, id, outcome, atMs }],
  );
  const asked = new Map(answered.map((one) => [JSON.stringify(one.concepts), one]));
  const solved = [...asked.values()].filter((one) => solutionsOf(one, answered).get(id)?.how === "exactly");
  const answers = new Map<string, MemoryTold["questions"]["answers"][number]>();
  for (const { context, collection, outcome } of answered) {
    const name = `${context} ${collection}`;
    const before = answers.get(name) ?? { context, collection, worked: 0, failed: 0, partial: 0 };
    answers.set(name, { ...before, [outcome]: before[outcome] + 1 });
  }
  return { asked: asked.size, solved: solved.length, answers: [...answers.values()] };
}

export async function memoryStats(reader: MemoryReader): Promise<MemoryStats> {
  const rooms = new Map(
    reader.places().flatMap(({ wing, room, drawers }) => (wing === MEMORY_WING ? [[room, drawers]] : [])),
  );
  const collections = Object.fromEntries(COLLECTIONS.map((room) => [room, rooms.get(room) ?? 0]));
  return {
    ...{ collections, archived: rooms.get(ARCHIVE_ROOM) ?? 0, conversations: reader.conversations().length },
    helped: await reader.helpedByWeek(""),
  };
}
