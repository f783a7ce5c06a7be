/**
 * Finds entries of a Roampal's graphs that name what is to be forgotten, or hold its words: in the rows, and in what undo keeps of them.
 * Used by forget.ts.
 */
import type { Drawer } from "../../port/drawer.ts";
import type { ForgetSelector } from "../../port/hygiene.ts";
import type { LedgerDatabase } from "../open.ts";
import { stringsOf } from "./strings.ts";

/** A memory's id, wherever it stands: a graph names a memory by the id that it had when the entry was made. */
const ID = /(?:working|history|patterns|memory_bank|books?)_[0-9a-f]{8}(?:_chunk_\d+)?/g;
const MOVED = /^(?:working|history|patterns|memory_bank)_(?=[0-9a-f]{8}$)/;
/** Between the parts of a name. */
const JOINT = "::";

export type Carried = { id: string; json: string | null };

export function carriedRows(database: LedgerDatabase, isMeant: (row: Carried) => boolean): string[] {
  return idsOf(database, "SELECT id, value AS json FROM carried_graph", isMeant);
}

export function carriedImages(database: LedgerDatabase, isMeant: (row: Carried) => boolean): string[] {
  return idsOf(database, "SELECT id, before AS json FROM change WHERE kind = 'carried'", isMeant);
}

/** Whether a row names one of the drawers, or holds the text: to the character in a sentence, by one of its concepts in a name. */
export function carriedTest(drawers: readonly Drawer[], selector: ForgetSelector): (row: Carried) => boolean {
  const { ids = [], match, words = [] } = selector;
  const names = new Set([...ids, ...drawers.map(({ id }) => id)].map(anyIdOf));
  const named = [match ?? "", ...words].map((word) => `_${folded(word)}_`).filter((word) => word !== "__");
  const isNamed = (text: string): boolean =>
    text.split(JOINT).some((part) => names.has(anyIdOf(part))) ||
    (text.match(ID) ?? []).some((id) => names.has(anyIdOf(id)));
  const isWorded = (text: string): boolean => {
    if (match === undefined) return false;
    if (text.includes(match)) return true;
    const name = /\s/.test(text) ? "" : `_${folded(text)}_`;
    return named.some((word) => name.includes(word));
  };
  const holds = (json: string): boolean => {
    for (const text of stringsOf(JSON.parse(json))) if (isNamed(text) || isWorded(text)) return true;
    return false;
  };
  return ({ id, json }) => holds(id) || (json !== null && holds(json));
}

function idsOf(database: LedgerDatabase, sql: string, isMeant: (row: Carried) => boolean): string[] {
  const found = new Set<string>();
  for (const row of database.prepare<[], Carried>(sql).iterate())
    if (!found.has(row.id) && isMeant(row)) found.add(row.id);
  return [...found];
}

/** The same for every id of a memory that moves. */
function anyIdOf(id: string): string {
  return id.replace(MOVED, "");
}

/** As the names in a graph are made of words. */
function folded(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}-]+/gu, "_")
    .replace(/^_|_$/g, "");
}
