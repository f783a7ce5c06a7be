/**
 * Under which ids the graph keeps what is to be forgotten: ids of entities and facts are made of their words, in lower case, and
 * stand in the journal's answers and among the before-images long after their rows are gone. Used by forget.ts.
 */
import type { Found } from "../../port/hygiene.ts";
import type { LedgerDatabase } from "../open.ts";

export type GraphNames = {
  /** It is the id of an entity or a fact that is forgotten. */
  isId: (text: string) => boolean;
  /** In a row of that method: other tools' rooms and wings may have an entity's name. */
  isNameIn: (method: string, text: string) => boolean;
  /** In a row that is known to be of it: the words in whatever case. */
  isOf: (text: string) => boolean;
};

const TOKEN_MIN = 12;
/** Those whose arguments and answers name entities. */
const OF_GRAPH = /^(?:kg_|memory\.)/;

/** What the graph makes of a text (engine/graph/facts.ts). `isPart`: that is found within others, since no words are like it. */
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

/** Of those that were taken back the name is left in the image of that. */
function goneEntities(database: LedgerDatabase, match: string): string[] {
  return database
    .prepare<[string], string>("SELECT DISTINCT id FROM change WHERE kind = 'entity' AND instr(before, ?) > 0")
    .pluck()
    .all(JSON.stringify(match).slice(1, -1));
}

function foldedOf(text: string): string {
  return text.toLowerCase().replaceAll(" ", "_").replaceAll("'", "");
}
