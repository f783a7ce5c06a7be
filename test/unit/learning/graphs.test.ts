/** Tests the stored form of a question, and the lessons from earlier answered questions (outcome-memory.md 3.6, 8.2–8.5). */
import { expect, test } from "vitest";
import { entitiesNamed } from "../../../src/learning/search/content-graph.ts";
import { likeness, solutionsOf } from "../../../src/learning/search/known-solutions.ts";
import { rateOf } from "../../../src/learning/search/lessons.ts";
import { USUAL_WEIGHT } from "../../../src/learning/memory/memory.ts";
import { conceptNumber, keptConcepts, questionOf } from "../../../src/learning/question/question.ts";
import { route, routesOf } from "../../../src/learning/search/routing.ts";
import { Searches } from "../../../src/learning/search/recent-searches.ts";
import type { Answered, Telling } from "../../../src/memory/port/outcome.ts";

const QUESTION = "How do I configure TypeScript strict mode?";

/** Returns an outcome of a memory that was shown for a question with the given concepts. */
function told(id: string, outcome: Telling, concepts: readonly number[], atMs = 1, collection = "history"): Answered {
  return { id, outcome, concepts, atMs, collection, context: "general" };
}

test("a question is stored as numbers that are the same in every process", () => {
  expect(keptConcepts(QUESTION).slice(0, 4)).toEqual(["configure", "mode", "strict", "typescript"]);
  const question = questionOf(QUESTION);
  expect(question).toMatchObject({ context: "coding", concepts: { length: 9 } });
  expect(question?.concepts.every(Number.isSafeInteger)).toBe(true);
  expect(questionOf("configure typescript, STRICT mode")).toEqual(question);
  expect(JSON.stringify(question)).not.toMatch(/configure|strict|mode/);
  expect(conceptNumber("strict")).toBe(1_023_724_771_778_598);
  expect(questionOf("why is it?")).toBeUndefined();
});

test("only the first thousand characters of a long question are read", () => {
  const long = "x".repeat(1_000_000);
  expect(questionOf(long)?.concepts).toHaveLength(1);
  expect(questionOf(long)).toEqual(questionOf(long.slice(0, 1_000)));
  const words = Array.from({ length: 1_000 }, (_, at) => `word${at}`).join(" ");
  expect(questionOf(words)?.concepts).toHaveLength(24);
});

test("questions are similar if they share at least three concepts, and at least half of all concepts of both questions", () => {
  expect(likeness([1, 2, 3], [3, 2, 1])).toEqual({ how: "exactly", shared: 3 });
  expect(likeness([1, 2, 3, 4], [2, 3, 4, 5])).toEqual({ how: "partly", shared: 3 });
  expect(likeness([1, 2, 3, 4, 5], [2, 3, 4, 6, 7])).toBeUndefined();
  expect(likeness([1, 2, 3], [1, 2])).toBeUndefined();
  expect(likeness([], [])).toBeUndefined();
});

test("a question gets the three memories that solved similar questions most reliably", () => {
  const asked = { concepts: [1, 2, 3, 4] };
  const again = (id: string, times: number, concepts: readonly number[], atMs = 1): Answered[] =>
    Array.from({ length: times }, () => told(id, "worked", concepts, atMs));
  const solutions = solutionsOf(asked, [
    ...[...again("early", 2, [1, 2, 3, 4]), ...again("late", 2, [1, 2, 3, 4], 9), ...again("alike", 5, [1, 2, 3])],
    ...[...again("often", 2, [1, 2, 3, 4]), told("often", "worked", [2, 3, 4, 5])],
    ...[...again("both", 3, [1, 2, 3, 4]), told("both", "failed", [1, 2, 3, 4])],
    ...[
      told("once", "worked", [1, 2, 3, 4]),
      told("little", "partial", [1, 2, 3, 4]),
      ...again("other", 3, [1, 7, 8, 9]),
    ],
  ]);
  expect([...solutions]).toEqual([
    ["often", { how: "exactly", times: 3, shared: 4 }],
    ["late", { how: "exactly", times: 2, shared: 4 }],
    ["early", { how: "exactly", times: 2, shared: 4 }],
  ]);
  expect([...solutionsOf(asked, again("alike", 2, [1, 2, 3]))]).toEqual([
    ["alike", { how: "partly", times: 2, shared: 3 }],
  ]);
});

test("a concept's outcomes are counted separately for each collection of scored memories", () => {
  const many = Array.from({ length: 10 }, (_, at) => told("a", "worked", [1, 2], at, "patterns"));
  const routes = routesOf({ concepts: [1, 5] }, [...many, told("b", "failed", [1, 9], 1, "history")]);
  expect(routes).toEqual([
    {
      tallies: {
        patterns: { successes: 10, failures: 0, partials: 0, total: 10 },
        history: { successes: 0, failures: 1, partials: 0, total: 1 },
      },
      ...{ best: "patterns", rate: 1 },
    },
  ]);
  expect(route(routes)).toMatchObject({ phase: "medium", collections: ["patterns"] });
  expect(routesOf({ concepts: [1] }, [told("b", "failed", [1], 1, "no collection")])).toEqual([]);
});

test("a partial success counts half in a success rate", () => {
  expect(rateOf({ worked: 2, failed: 1, partial: 2 })).toEqual({ uses: 5, rate: 0.6 });
  expect(rateOf({ worked: 0, failed: 0, partial: 0 })).toEqual({ uses: 0, rate: 0 });
});

test("memories that mention a name in the question rank higher if an important fact mentions the name", () => {
  const weight = { importance: 1, confidence: 1 };
  const found = [
    { collection: "memory_bank", text: "Orca is the team of payments", weight },
    { collection: "memory_bank", text: "Orca meets on Monday", weight: { importance: 0, confidence: 1 } },
    { collection: "history", text: "Orca fixed it", weight: USUAL_WEIGHT },
    { collection: "history", text: "Somebody fixed it", weight: USUAL_WEIGHT },
  ] as const;
  expect(entitiesNamed("What does Orca do?", found)).toEqual([1.1, 1.1, 1.1, 1]);
  expect(entitiesNamed("What does Orca do?", found.slice(2))).toEqual([1, 1]);
});

test("a score belongs to the agent's newest search that returned the memory", () => {
  const searches = new Searches();
  const [ada, bob] = [searches.of("ada"), searches.of("bob")];
  ada.note(["a", "b"], QUESTION);
  ada.note(["b"], "Where is the yellow bicycle?");
  bob.note(["a"], "why?");
  expect(ada.take("a")).toEqual(questionOf(QUESTION));
  expect(ada.take("a"), "two scores for one search").toBeUndefined();
  expect(ada.take("b")).toEqual(questionOf("Where is the yellow bicycle?"));
  expect(bob.take("a")).toBeUndefined();
  ada.note(["a", "c"], QUESTION);
  ada.note(
    Array.from({ length: 2_000 }, (_, at) => `m${at}`),
    QUESTION,
  );
  expect([ada.take("a"), ada.take("m1998")]).toEqual([undefined, questionOf(QUESTION)]);
  searches.clear();
  expect(ada.take("m1999")).toBeUndefined();
});
