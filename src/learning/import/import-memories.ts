/** Imports and exports Roampal's memories (outcome-memory.md 2.1–2.3). Repeating an import adds nothing. */
import { cut } from "../../base/shorten.ts";
import { isRecord } from "../../base/parse-json.ts";
import type { Drawer } from "../../memory/port/drawer.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryReader, MemoryTx } from "../../memory/port/memory.ts";
import { badParams } from "../../base/errors.ts";
import { CARRIED_MAX, CARRIED_PART_MAX_BYTES } from "../../protocol/limits.ts";
import { isScalar } from "../../protocol/import.ts";
import type { CarriedMemory, CarriedPage, ImportReport } from "../../protocol/outcome.ts";
import { asText } from "../../memory/text/validate.ts";
import { cameAs, digestOf, fromCarried, toCarried } from "./roampal-memory.ts";
import { plainId, idsOf, isCollection } from "../memory/memory.ts";
import { dueFate } from "../scoring/retention.ts";
import { findShown, MEMORY_WING, toMemory } from "../memory/as-drawer.ts";
import { plainTime } from "../scoring/true-time.ts";

const ID_MAX = 200;
/** Method that undoes writes. A memory that an undo deleted may be imported again. */
const UNDO = "memory.undo";

export function importMemories(tx: MemoryTx, call: WriteCall): ImportReport {
  const { memories, isDry } = readParams(call.params);
  const report: ImportReport = { added: [], updated: [], kept: [], gone: [], refused: [], overdue: 0 };
  const absent: CarriedMemory[] = [];
  const seen = new Set<string>();
  for (const one of memories) {
    const memory = one as CarriedMemory;
    const why = oddityOf(one) ?? objectionTo(memory, seen);
    const there = why === undefined ? findHeld(tx, memory) : undefined;
    if (why !== undefined) report.refused.push({ id: idOf(one), why });
    else if (there === undefined && isElsewhere(tx, memory.id))
      report.refused.push({ id: memory.id, why: "its id belongs to another profile's memory" });
    else if (there === undefined) absent.push(memory);
    else meet(tx, call, memory, there, isDry, report);
  }
  const gone = goneOf(tx, call, absent);
  for (const memory of absent)
    if (gone.has(memory.id) || gone.has(plainId(memory.id))) report.gone.push(memory.id);
    else add(tx, call, memory, isDry, report);
  return report;
}

/** Returns the ids among `absent` that this agent imported before and that were deleted since, except by an undo. */
function goneOf(tx: MemoryTx, call: WriteCall, absent: readonly CarriedMemory[]): Set<string> {
  if (absent.length === 0) return new Set();
  const came = tx.changedBy(
    call.peer.agent,
    absent.flatMap(({ id }) => [id, plainId(id)]),
  );
  return came.size === 0 ? came : came.difference(tx.lastChangedByMethod(UNDO, [...came]));
}

/**
 * Finds a memory by its id. Ids that differ only in the collection count as equal if the texts are equal, because the eight digits may be
 * the same by chance.
 */
function findHeld(tx: MemoryTx, { id, text }: CarriedMemory): Drawer | undefined {
  const shown = findShown(tx, id);
  const isItself = shown !== undefined && (shown.id === id || shown.id === plainId(id));
  return shown === undefined || isItself || shown.text === text ? shown : undefined;
}

function isElsewhere(tx: MemoryTx, id: string): boolean {
  const filed = plainId(id);
  return [filed, ...idsOf(filed)].some((one) => tx.isTaken(one) && tx.findDrawer(one) === undefined);
}

function add(tx: MemoryTx, call: WriteCall, memory: CarriedMemory, isDry: boolean, report: ImportReport): void {
  const { drawer, standing } = fromCarried(memory, call.peer.agent);
  const made = toMemory({ row: 0, wing: MEMORY_WING, room: String(drawer.metadata["room"]), ...drawer }, standing);
  if (made !== undefined && dueFate(made, plainTime(call.atMs), false).kind === "goes") report.overdue += 1;
  report.added.push(memory.id);
  if (isDry) return;
  tx.insertDrawers([drawer]);
  tx.standings.put(drawer.id, standing);
}

/** Updates a memory that was imported before, unless it has changed in this palace since. */
function meet(
  tx: MemoryTx,
  call: WriteCall,
  memory: CarriedMemory,
  there: Drawer,
  isDry: boolean,
  report: ImportReport,
): void {
  const { id } = memory;
  const ours = toCarried(there, tx.standings.find(there.id));
  if (ours === undefined) {
    report.refused.push({ id, why: `its id belongs to a drawer in ${cut(there.wing)}/${cut(there.room)}` });
    return;
  }
  const here = digestOf(ours);
  if (here === digestOf(memory)) return;
  const came = cameAs(there.metadata);
  if (came === undefined) {
    report.refused.push({ id, why: "its id belongs to a memory made here" });
    return;
  }
  if (here !== came) {
    report.kept.push(id);
    return;
  }
  report.updated.push(id);
  if (isDry) return;
  const { drawer, standing } = fromCarried(memory, call.peer.agent);
  tx.updateDrawer(there.id, { text: drawer.text, metadata: drawer.metadata });
  tx.standings.put(there.id, standing);
}

/** Returns a page in filing order. `isShifted`: after a deletion, `after` is not the drawer before `from`. Errors: PROTOCOL_BAD_PARAMS. */
export function carriedPage(reader: MemoryReader, { from, after }: Record<string, unknown>): CarriedPage {
  if (typeof from !== "number" || !Number.isSafeInteger(from) || from < 0)
    throw badParams("from must be a number of drawers");
  const before = from === 0 ? 0 : 1;
  const { drawers, total } = reader.listDrawers({ wing: MEMORY_WING }, CARRIED_MAX + before, from - before);
  const page: CarriedPage = { memories: [], others: 0, total, next: null, isShifted: false };
  if (before === 1 && drawers.shift()?.id !== after) return { ...page, isShifted: true };
  const standings = reader.standings(drawers.map(({ id }) => id));
  let bytes = 0;
  for (const [at, drawer] of drawers.entries()) {
    const memory = toCarried(drawer, standings.get(drawer.id));
    bytes += memory === undefined ? 0 : Buffer.byteLength(JSON.stringify(memory));
    if (at > 0 && bytes > CARRIED_PART_MAX_BYTES)
      return { ...page, next: { from: from + at, after: drawers[at - 1]?.id ?? "" } };
    if (memory === undefined) page.others += 1;
    else page.memories.push(memory);
  }
  const last = drawers.length < CARRIED_MAX ? undefined : drawers.at(-1);
  return last === undefined ? page : { ...page, next: { from: from + drawers.length, after: last.id } };
}

/** Returns the reason if the memory cannot be imported. `seen`: ids of earlier memories in the same call. */
function objectionTo({ id, text, collection }: CarriedMemory, seen: Set<string>): string | undefined {
  const filed = plainId(id);
  if (seen.has(filed)) return "its id occurs twice";
  seen.add(filed);
  if (id === "" || id.length > ID_MAX) return `its id has not 1 to ${ID_MAX} characters`;
  if (/\p{Cc}/u.test(id)) return "its id has control characters";
  if (!isCollection(collection)) return `there is no collection ${cut(collection)}`;
  if (text.includes("\0")) return "its text has a null byte";
  return text.trim() === "" ? "it contains no text" : undefined;
}

function readParams({ memories, isDry }: Record<string, unknown>): { memories: unknown[]; isDry: boolean } {
  if (typeof isDry !== "boolean") throw badParams("isDry must be true or false");
  if (!Array.isArray(memories) || memories.length > CARRIED_MAX)
    throw badParams(`memories must be a list of at most ${CARRIED_MAX}`);
  return { memories, isDry };
}

function oddityOf(value: unknown): string | undefined {
  const { id, collection, text, metadata } = isRecord(value) ? value : {};
  if (![id, collection, text].every((one) => typeof one === "string") || !isRecord(metadata))
    return "it has no id, collection, text and metadata";
  const odd = Object.keys(metadata).find((key) => ![metadata[key]].flat().every(isScalar));
  return odd === undefined ? undefined : `its field ${cut(odd)} is not a text, a number, true or false`;
}

function idOf(value: unknown): string {
  const id = isRecord(value) ? value["id"] : undefined;
  return typeof id === "string" ? id : cut(asText(id ?? ""));
}
