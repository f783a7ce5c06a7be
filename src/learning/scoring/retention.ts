/** Finds memories that are due by their age; a write then moves or deletes them (outcome-memory.md 2.8). */
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryTx } from "../../memory/port/memory.ts";
import { aged, isGarbage } from "./ageing.ts";
import { type ListContext, memoriesIn } from "../memory/list-memories.ts";
import { MOVING } from "../memory/memory.ts";
import type { Fate } from "./promotion.ts";
import { follow, type Memory, toMemory } from "../memory/as-drawer.ts";
import { type TrueTime, trueAgeMs } from "./true-time.ts";

/** Maximum memories in one write; the others follow in further writes. */
export const AGED_MAX = 200;

/** Parameters of the write. The write checks each memory again, because an outcome may have changed the memory in between. */
export type AgeRequest = { ids: string[]; time: Time; isStart: boolean; profile?: string };
type Time = Pick<TrueTime, "trueMs" | "shifts">;
/** `seen`: ids that earlier calls of dueMemories returned. */
type DueContext = ListContext & { seen?: ReadonlySet<string> };

const [AGE, UNDO] = ["memory.age", "memory.undo"] as const;

/** Returns ids of memories that must move or be deleted. If a broker starts (`isStart`), memories with too low a score are due, too. */
export async function dueMemories(context: DueContext, time: Time, isStart: boolean): Promise<string[]> {
  // Memories in `patterns` do not age.
  const ageing = isStart ? MOVING : MOVING.filter((collection) => collection !== "patterns");
  const due: string[] = [];
  for (const collection of ageing)
    for await (const memory of memoriesIn(context, collection)) {
      const isSeen = context.seen?.has(memory.drawerId) === true;
      if (!isSeen && dueFate(memory, time, isStart).kind !== "stays") due.push(memory.drawerId);
      if (due.length === AGED_MAX) return due;
    }
  return due;
}

export function ageMemories(tx: MemoryTx, { params, peer, atMs }: WriteCall): { moved: number; gone: number } {
  const { ids, time, isStart } = params as AgeRequest;
  const done = { stays: 0, moves: 0, goes: 0 };
  // Skips memories that a person restored with `undo` after `memory.age` had moved or deleted them.
  const before = tx.changedBy(peer.agent, ids);
  const broughtBack = before.size === 0 ? before : tx.lastChangedByMethod(UNDO, [...before], [AGE, UNDO]);
  for (const id of ids.filter((one) => !broughtBack.has(one))) {
    const drawer = tx.findDrawer(id);
    const memory = drawer && toMemory(drawer, tx.standings.find(drawer.id));
    if (memory === undefined) continue;
    const due = dueFate(memory, time, isStart);
    follow(tx, memory, due, atMs);
    done[due.kind] += 1;
  }
  return { moved: done.moves, gone: done.goes };
}

export function dueFate({ row, collection, standing, madeMs }: Memory, time: Time, isStart: boolean): Fate {
  if (isStart && isGarbage(collection, standing)) return { kind: "goes" };
  // If its creation time is unreadable, the memory stays.
  return Number.isNaN(madeMs) ? { kind: "stays" } : aged(collection, standing, trueAgeMs(time, row, madeMs));
}
