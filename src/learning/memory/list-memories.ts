/** Lists stored memories without a query, on the broker's main thread (outcome-memory.md 3.7). */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { MemoryReader } from "../../memory/port/memory.ts";
import { type Filters, matches } from "../search/filters.ts";
import { type Collection, COLLECTIONS } from "./memory.ts";
import { type Memory, MEMORY_WING, toMemory } from "./as-drawer.ts";

export type ListContext = { reader: Pick<MemoryReader, "listDrawers" | "standings" | "places"> };

/** Maximum number of memories to list from a collection; older ones are left out. */
const LISTED_MAX = 10_000;
/** Number of drawers in one read. The broker answers other calls between two reads. */
const PAGE = 500;
/** Maximum number of facts to read: twice CAPACITY, which an import from Roampal may exceed. */
const FACTS_MAX = 1_000;

export async function listMemories(
  context: ListContext,
  { collections = COLLECTIONS, filters = {} }: { collections?: readonly Collection[]; filters?: Filters },
): Promise<Memory[]> {
  const listed: Memory[] = [];
  for (const room of collections) {
    const from = Math.max(0, count(context, room) - LISTED_MAX);
    for await (const memory of memoriesIn(context, room, from)) if (matches(memory, filters)) listed.push(memory);
  }
  return listed;
}

/** Yields memories in filing order, page by page. May miss memories that are filed or deleted meanwhile. */
export async function* memoriesIn(context: ListContext, room: Collection, from = 0): AsyncGenerator<Memory, void> {
  for (let offset = from; ; offset += PAGE) {
    const { memories, drawers } = page(context, room, PAGE, offset);
    yield* memories;
    if (drawers < PAGE) return;
    await nextTurn();
  }
}

export function facts(context: ListContext): Memory[] {
  return page(context, "memory_bank", FACTS_MAX, 0).memories;
}

export function newest(context: ListContext, room: Collection): Memory[] {
  return page(context, room, PAGE, Math.max(0, count(context, room) - PAGE)).memories;
}

export function has(context: ListContext, room: Collection): boolean {
  return count(context, room) > 0;
}

function count({ reader }: ListContext, room: Collection): number {
  return reader.places().find((place) => place.wing === MEMORY_WING && place.room === room)?.drawers ?? 0;
}

function page(
  { reader }: ListContext,
  room: Collection,
  limit: number,
  offset: number,
): { memories: Memory[]; drawers: number } {
  const { drawers } = reader.listDrawers({ wing: MEMORY_WING, room }, limit, offset);
  const standings = reader.standings(drawers.map(({ id }) => id));
  return {
    memories: drawers.flatMap((drawer) => toMemory(drawer, standings.get(drawer.id)) ?? []),
    drawers: drawers.length,
  };
}
