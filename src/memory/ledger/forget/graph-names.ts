/** Finds the forgotten words in graph ids, which the journal and the before-images still have after the rows are deleted. */
import type { Found } from "../../port/hygiene.ts";
import type { LedgerDatabase } from "../open.ts";
import { selectValues } from "../select.ts";

export type GraphNames = {
  /** True for the id of a forgotten entity or fact, even if an undo or an earlier `forget` has removed it. */
  isId: (text: string) => boolean;
  /** True if the text names the entity in a journal row of this method. Rows of some methods may name a room or wing instead. */
  isNameIn: (method: string, text: string) => boolean;
  /** True if the text contains the forgotten words, ignoring case. Use it only for rows that belong to the forgotten text. */
  isOf: (text: string) => boolean;
};

const TOKEN_MIN = 12;
/** Methods whose arguments and answers name entities. */
const OF_GRAPH = /^(?:kg_|memory\.)/;

/**
 * Returns the graph's id for a text (memory/graph/facts.ts). `isPart`: true for a long text of letters and digits, such as a token, which
 * is also searched inside other ids.
 */
export function heldAs(match: string): { id: string; isPart: boolean } {
  const id = foldedOf(match);
  return { id, isPart: id.length >= TOKEN_MIN && /[a-z]/.test(id) && /[0-9]/.test(id) };
}

export function graphNames(database: LedgerDatabase, found: Found, match: string | undefined): GraphNames {
  if (match === undefined) return { isId: () => false, isNameIn: () => false, isOf: () => false };
  const { id, isPart } = heldAs(match);
  const entities = new Set([...found.entities, ...goneEntities(database, match), id]);
  const facts = new Set(found.facts);
  const infixes = [...entities].map((entity) => `_${entity}_`);
  const isToken = (text: string): boolean => isPart && foldedOf(text).includes(id);
  const isFact = (text: string): boolean =>
    facts.has(text) || (text.startsWith("t_") && infixes.some((infix) => text.includes(infix)));
  return {
    isId: (text) => entities.has(text) || isFact(text) || isToken(text),
    isNameIn: (method, text) => isFact(text) || isToken(text) || (OF_GRAPH.test(method) && entities.has(text)),
    isOf: (text) => entities.has(text) || isFact(text) || foldedOf(text).includes(id),
  };
}

/** Returns ids of entities whose before-images contain the text. They may be renamed or deleted now. */
function goneEntities(database: LedgerDatabase, match: string): string[] {
  const sql = "SELECT DISTINCT id FROM change WHERE kind = 'entity' AND instr(before, ?) > 0";
  return selectValues<string>(database, sql, JSON.stringify(match).slice(1, -1));
}

function foldedOf(text: string): string {
  return text.toLowerCase().replaceAll(" ", "_").replaceAll("'", "");
}
