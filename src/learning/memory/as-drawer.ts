/** Stores memories as drawers in one wing. The collection is the room; outcomes are stored separately (outcome-memory.md 2.1–2.3, 2.7). */
import { parseJson } from "../../base/parse-json.ts";
import type { Drawer, Metadata } from "../../memory/port/drawer.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryTx } from "../../memory/port/memory.ts";
import type { Standing } from "../../memory/port/outcome.ts";
import { sha256Hex } from "../../memory/text/text.ts";
import { weightOf } from "./fact-rules.ts";
import { timeOf } from "./described.ts";
import {
  type Collection,
  plainId,
  idIn,
  idsOf,
  isCollection,
  isMemoryId,
  newStanding,
  USUAL_SCORE,
  type Weight,
} from "./memory.ts";
import type { Fate } from "../scoring/promotion.ts";

export const MEMORY_WING = "roampal";
/** Prefix of the wings of named profiles (profiles.ts). */
export const PROFILE_WING = `${MEMORY_WING} profile `;
const MIDDLE_SCORE = 0.5;
/** Room of archived facts, which no search reads. */
export const ARCHIVE_ROOM = "archive";
/** Metadata field that marks a memory as imported from Roampal. No tool writes it. */
export const CAME = "roampal_import";

export type Memory = {
  /** Id that agents see, such as `working_1a2b3c4d`. The first part is the collection, so a move to another collection changes the id. */
  id: string;
  drawerId: string;
  row: number;
  collection: Collection;
  text: string;
  metadata: Metadata;
  standing: Standing;
  madeMs: number;
  weight: Weight;
};

export type NewMemory = { collection: Collection; text: string; score?: number; fields?: Metadata };

/** Returns undefined if the drawer is archived or is not a memory. `standing` is undefined for a drawer without outcomes. */
export function toMemory(drawer: Drawer, standing: Standing | undefined): Memory | undefined {
  const { row, id, wing, room, text, metadata } = drawer;
  if (wing !== MEMORY_WING || !isCollection(room) || !isFiledAsMemory(drawer)) return undefined;
  return {
    ...{ id: idIn(room, id), drawerId: id, row, collection: room, text, metadata, weight: weightOf(metadata) },
    standing: standing ?? newStanding(USUAL_SCORE[room]),
    madeMs: timeOf(metadata["timestamp"] ?? metadata["created_at"]),
  };
}

/** Returns the standing before the first outcome: the collection's score for a memory, the middle score for any other drawer. */
export function unjudged(drawer: Drawer): Standing {
  const own = isMemoryWing(drawer.wing) ? { ...drawer, wing: MEMORY_WING } : drawer;
  return toMemory(own, undefined)?.standing ?? newStanding(MIDDLE_SCORE);
}

export function isMemoryWing(wing: string): boolean {
  return wing === MEMORY_WING || wing.startsWith(PROFILE_WING);
}

/** Returns true for a drawer with a memory's id, or imported from Roampal with any id. */
export function isFiledAsMemory({ id, metadata }: Pick<Drawer, "id" | "metadata">): boolean {
  return isMemoryId(id) || typeof metadata[CAME] === "string";
}

/** Stores a memory and returns its id, which is made from the write's key. */
export function storeMemory(
  tx: MemoryTx,
  call: WriteCall,
  { collection, text, score, fields = {} }: NewMemory,
): string {
  const at = isoTime(call.atMs);
  const id = freeId(tx, collection, call.key);
  const metadata: Metadata = {
    ...{ wing: MEMORY_WING, room: collection, source_file: "", chunk_index: 0 },
    ...{ added_by: call.peer.agent, created_at: at, ...fields },
  };
  tx.insertDrawers([{ id, text, metadata }]);
  tx.standings.put(id, newStanding(score ?? USUAL_SCORE[collection]));
  return id;
}

/** Returns the id that storeMemory gives a memory, unless another memory has that id. */
export function firstId(collection: Collection, seed: string): string {
  return nthId(collection, seed, 0);
}

function nthId(collection: Collection, seed: string, nth: number): string {
  return `${collection}_${sha256Hex(`${seed} ${nth}`).slice(0, 8)}`;
}

/** Returns an unused id. Ids have only eight digits, so the first candidate may be taken by another memory. */
function freeId(tx: MemoryTx, collection: Collection, seed: string): string {
  for (let nth = 0; ; nth++) {
    const id = nthId(collection, seed, nth);
    if (!idsOf(id).some((one) => tx.isTaken(one))) return id;
  }
}

/** Finds a memory by any id that the memory has had, here or in Roampal. Finds any other drawer by its id. */
export function findShown(tx: Pick<MemoryTx, "findDrawer">, id: string): Drawer | undefined {
  const filed = plainId(id);
  const drawer = tx.findDrawer(id) ?? (filed === id ? undefined : tx.findDrawer(filed));
  if (drawer !== undefined) return drawer;
  for (const one of idsOf(id)) {
    const moved = tx.findDrawer(one);
    if (moved !== undefined && isMemoryWing(moved.wing)) return moved;
  }
  return undefined;
}

export function follow(tx: MemoryTx, memory: Memory, decided: Fate, atMs: number): void {
  const { drawerId, collection, metadata, standing } = memory;
  if (decided.kind === "goes") tx.deleteDrawer(drawerId);
  if (decided.kind !== "moves") return;
  const { to } = decided;
  const at = isoTime(atMs);
  const { score, uses } = standing;
  const history = [...records(metadata["promotion_history"]), { from: collection, to, timestamp: at, score, uses }];
  const direction = collection === "patterns" ? "demoted_from" : "promoted_from";
  tx.updateDrawer(drawerId, {
    metadata: {
      ...{ ...metadata, room: to, [direction]: collection, promotion_history: JSON.stringify(history) },
      ...(collection === "working" && { promoted_to_history_at: at }),
    },
  });
}

/** Reads a list that is stored as JSON. Any other value counts as empty. */
export function records(json: unknown): unknown[] {
  const list = parseJson(String(json));
  return Array.isArray(list) ? list : [];
}

export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
