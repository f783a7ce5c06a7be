/** Finds entries of Roampal's graphs, and their before-images, that name a forgotten memory or contain its words. */
import type { Statement } from "better-sqlite3";
import type { Drawer } from "../../port/drawer.ts";
import type { ForgetSelector } from "../../port/hygiene.ts";
import { isTexts, readAnyColumn, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { stringsOf } from "./strings.ts";

/** Matches the ids in an entry. A memory may have got another id since, because an id changes when the memory moves. */
const ID = /(?:working|history|patterns|memory_bank|books?)_[0-9a-f]{8}(?:_chunk_\d+)?/g;
const MOVED = /^(?:working|history|patterns|memory_bank)_(?=[0-9a-f]{8}$)/;
/** Separator of the parts of an entry's name. */
const JOINT = "::";
/** Section in which names consist only of Roampal's own words: the kind of conversation, the action, the collection. */
const WORDLESS_SECTION = "context_action_effectiveness";
const WORD_MIN = 3;

/** `json`: the entry's value, or its value in a before-image. */
type Row = { id: string; json: string | null };
type IsMeant = (row: Row) => boolean;
type Lookup = Statement<[string], number>;

export function carriedRows(database: LedgerDatabase, isMeant: IsMeant): string[] {
  return idsOf(database, "SELECT id, value AS json FROM carried_graph", isMeant);
}

export function carriedImages(database: LedgerDatabase, isMeant: IsMeant): string[] {
  return idsOf(database, "SELECT id, before AS json FROM change WHERE kind = 'carried'", isMeant);
}

/**
 * Returns a test for entries to be forgotten: an entry that contains an id of one of `drawers` or the text `match`, or whose name contains
 * one of `words` or a word that only `drawers` contain.
 */
export function carriedTest(database: LedgerDatabase, drawers: readonly Drawer[], selector: ForgetSelector): IsMeant {
  const { ids = [], match, words = [] } = selector;
  const names = new Set([...ids, ...drawers.map(({ id }) => id)].map(anyIdOf));
  const named = [match ?? "", ...words].map((word) => `_${folded(word)}_`).filter((word) => word !== "__");
  let isLost: ((word: string) => boolean) | undefined;
  const isNamed = (text: string): boolean =>
    text.split(JOINT).some((part) => names.has(anyIdOf(part))) ||
    (text.match(ID) ?? []).some((id) => names.has(anyIdOf(id)));
  const isWorded = (text: string): boolean => {
    if (match === undefined) return false;
    if (text.includes(match)) return true;
    const name = /\s/.test(text) ? "" : `_${folded(text)}_`;
    return named.some((word) => name.includes(word));
  };
  return ({ id, json }) => {
    const [, section, name = ""] = readColumn("carried_graph.id", id, isTexts);
    for (const text of stringsOf([name, json === null ? null : readAnyColumn("carried_graph.value", json)]))
      if (isNamed(text) || isWorded(text)) return true;
    if (section === WORDLESS_SECTION) return false;
    return wordsOf(name.replaceAll(ID, "")).some((isLost ??= ofNoOther(database, drawers)));
  };
}

function idsOf(database: LedgerDatabase, sql: string, isMeant: IsMeant): string[] {
  const found = new Set<string>();
  for (const row of database.prepare<[], Row>(sql).iterate()) if (!found.has(row.id) && isMeant(row)) found.add(row.id);
  return [...found];
}

/** Returns a function that is true for a word that only these drawers contain. Words are cut as in the full-text index. */
function ofNoOther(database: LedgerDatabase, drawers: readonly Drawer[]): (word: string) => boolean {
  const rows = new Set(drawers.map(({ row }) => row));
  const words = new Set(drawers.flatMap(({ text }) => wordsOf(text)));
  const known = new Map<string, boolean>();
  // Searches the table from both ends: `drawers` are mostly consecutive, so a drawer before or after them is found soon.
  const [up, down] = ["ASC", "DESC"].map((order) =>
    database
      .prepare<[string], number>(`SELECT rowid FROM drawer_fts WHERE drawer_fts MATCH ? ORDER BY rowid ${order}`)
      .pluck(),
  ) as [Lookup, Lookup];
  const standsElsewhere = (word: string): boolean => {
    const last = down.get(`text : "${word}"`);
    if (last !== undefined && !rows.has(last)) return true;
    for (const row of up.iterate(`text : "${word}"`)) if (!rows.has(row)) return true;
    return false;
  };
  return (word) => {
    const is = known.get(word) ?? (words.has(word) && !standsElsewhere(word));
    known.set(word, is);
    return is;
  };
}

/** Returns a memory's id without its collection, which changes when the memory moves. */
function anyIdOf(id: string): string {
  return id.replace(MOVED, "");
}

function wordsOf(text: string): string[] {
  return folded(text)
    .split("_")
    .filter((word) => word.length >= WORD_MIN);
}

/** Returns a text in the form of names in a graph: lower case, words joined by `_`. */
function folded(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}-]+/gu, "_")
    .replace(/^_|_$/g, "");
}
