/** Looks up which collections and memories answered similar questions (outcome-memory.md 3.2, 3.6, 8.3–8.5). */
import type { MemoryReader } from "../../memory/port/memory.ts";
import type { Answered, Question, Told } from "../../memory/port/outcome.ts";
import { isSameTopic, solutionsOf, type Solved } from "./known-solutions.ts";
import { contextType } from "../question/context-type.ts";
import { type Collection, COLLECTIONS } from "../memory/memory.ts";
import { askedIn, questionOf } from "../question/question.ts";
import { route, routesOf } from "./routing.ts";

export type Lessons = {
  collections: readonly Collection[];
  /** Drawers that solved the question before, by id. */
  solved: ReadonlyMap<string, Solved>;
  /** Times of outcomes for similar questions, ms, by the drawer's id. */
  alike: ReadonlyMap<string, ReadonlySet<number>>;
};

const NONE: Lessons = { collections: COLLECTIONS, solved: new Map(), alike: new Map() };

export function lessonsOf(reader: Pick<MemoryReader, "answered">, query: string): Lessons {
  const question = questionOf(query);
  const answered = question === undefined ? [] : reader.answered(question.concepts);
  if (question === undefined || answered.length === 0) return NONE;
  return {
    collections: route(routesOf(question, answered)).collections,
    solved: solutionsOf(question, answered),
    alike: alikeOf(question, answered),
  };
}

function alikeOf({ concepts }: Question, answered: readonly Answered[]): Map<string, Set<number>> {
  const alike = new Map<string, Set<number>>();
  for (const { id, atMs, concepts: of } of answered)
    if (isSameTopic(concepts, of)) alike.set(id, (alike.get(id) ?? new Set()).add(atMs));
  return alike;
}

/** Minimum number of outcomes for a collection's success rate. With fewer, the rate would be chance. */
const SURE_USES = 3;

/** Returns a function that gives a collection's success rate for the topic of `text`; undefined if unknown (outcome-memory.md 3.8, 8.5). */
export function effectivenessIn(
  reader: Pick<MemoryReader, "toldIn">,
  text: string,
): (collection: Collection) => number | undefined {
  const known = new Map<Collection, number | undefined>();
  const contexts = new Set([contextType(askedIn(text)), "general"]);
  const look = (collection: Collection): number | undefined =>
    [...contexts].map((context) => rateOf(reader.toldIn(context, collection))).find(({ uses }) => uses >= SURE_USES)
      ?.rate;
  return (collection) => {
    if (!known.has(collection)) known.set(collection, look(collection));
    return known.get(collection);
  };
}

export function rateOf({ worked, failed, partial }: Told): { uses: number; rate: number } {
  const uses = worked + failed + partial;
  return { uses, rate: uses === 0 ? 0 : (worked + partial / 2) / uses };
}
