/** Lists turns for people: the memories that an agent saw, and the outcome of each. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { preview } from "../../memory/drawer/logical.ts";
import type { MemoryReader } from "../../memory/port/memory.ts";
import type { ShownTurn } from "../../memory/port/outcome.ts";
import { clampLimit } from "../../memory/text/validate.ts";
import type { ShownMemory, TurnPage } from "../../protocol/outcome.ts";
import { findShown, isoTime, records, toMemory } from "../memory/as-drawer.ts";

const LIMIT_DEFAULT = 20;
/** Number of turns that are read before other calls run. */
const TURNS_AT_ONCE = 10;

/** Returns a page of turns, the newest conversation first. `clean` masks the secrets of a whole text. */
export async function shownTurns(
  reader: MemoryReader,
  { conversation, limit: most, offset: asked }: Record<string, unknown>,
  clean: (text: string) => string,
): Promise<TurnPage> {
  const limit = clampLimit(most, LIMIT_DEFAULT);
  const offset = typeof asked === "number" && Number.isSafeInteger(asked) && asked > 0 ? asked : 0;
  const filter = { prefix: "", ...(typeof conversation === "string" && { conversation }) };
  const { turns, total } = reader.turns(filter, limit, offset);
  const shown: TurnPage["turns"] = [];
  for (const [at, turn] of turns.entries()) {
    if (at % TURNS_AT_ONCE === TURNS_AT_ONCE - 1) await nextTurn();
    shown.push(toldTurn(reader, turn, clean));
  }
  return { turns: shown, total, offset, limit };
}

function toldTurn(
  reader: MemoryReader,
  { conversation, agent, turn, atMs, ids }: ShownTurn,
  clean: (text: string) => string,
): TurnPage["turns"][number] {
  const memories = ids.map((id) => shownMemory(reader, id, { conversation, atMs }, clean));
  return { conversation, agent, turn, at: isoTime(atMs), memories };
}

function shownMemory(
  reader: MemoryReader,
  id: string,
  { conversation, atMs: wentOnMs }: Pick<ShownTurn, "conversation" | "atMs">,
  clean: (text: string) => string,
): ShownMemory {
  const drawer = findShown(reader, id);
  if (drawer === undefined) return { id, drawer: null, text: "", place: "", score: null, outcomes: [], moves: [] };
  const standing = reader.standings([drawer.id]).get(drawer.id);
  const memory = toMemory(drawer, standing);
  // A person's score names no conversation, so it counts for each conversation whose last turn was before the score.
  const outcomes = reader
    .scored(drawer.id)
    .filter(({ conversation: of, source, atMs }) =>
      of === null ? source === "user" && atMs >= wentOnMs : of === conversation,
    )
    .map(({ atMs, outcome, source: by }) => ({ at: isoTime(atMs), outcome, by }));
  return {
    ...{ id: memory?.id ?? drawer.id, drawer: drawer.id, place: `${drawer.wing}/${drawer.room}` },
    ...{ text: preview(clean(drawer.text)), score: (memory?.standing ?? standing)?.score ?? null, outcomes },
    moves: records(drawer.metadata["promotion_history"]) as ShownMemory["moves"],
  };
}
