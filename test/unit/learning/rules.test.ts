/** Tests rules of outcome-memory.md 2 and 3 that the golden vectors do not test. */
import { expect, test } from "vitest";
import { spelledOut } from "../../../src/learning/search/acronyms.ts";
import { aged, isGarbage } from "../../../src/learning/scoring/ageing.ts";
import { entityBoost } from "../../../src/learning/search/content-graph.ts";
import { contextType } from "../../../src/learning/question/context-type.ts";
import { newConversation, onPrompt, onStop } from "../../../src/learning/turn/conversation.ts";
import { asksForRecent, matches, sorted, unknownOperator } from "../../../src/learning/search/filters.ts";
import { alike } from "../../../src/learning/search/likeness.ts";
import { meantFact, NEAR_ENOUGH, readWeight } from "../../../src/learning/memory/fact-rules.ts";
import { age, pastSigns, recency, timeOf } from "../../../src/learning/memory/described.ts";
import type { Standing } from "../../../src/memory/port/outcome.ts";
import { idIn, idsOf, isMemoryId, newStanding } from "../../../src/learning/memory/memory.ts";
import { afterOutcome } from "../../../src/learning/scoring/apply-outcome.ts";
import { fate } from "../../../src/learning/scoring/promotion.ts";
import { readFilters } from "../../../src/learning/search/recall.ts";
import { boosted, learnedShare, worth } from "../../../src/learning/search/ranking.ts";
import { trust, wrongShare } from "../../../src/learning/scoring/trust.ts";
import type { PastOutcome } from "../../../src/memory/port/outcome.ts";
import { fitOf, reread } from "../../../src/learning/search/reranking.ts";
import { afterRouted, route, type Route } from "../../../src/learning/search/routing.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.UTC(2026, 5, 1);
const USUAL = { importance: 0.7, confidence: 0.7 };
const PLAIN = { ageMs: 0, evidence: undefined, entities: 1, solved: undefined, isRouted: false };
const standing = (score: number, uses = 0, successes = 0): Standing => ({ ...newStanding(score), uses, successes });

test("a score stays between 0 and 1, each outcome counts once, and the last ten are remembered", () => {
  let now = newStanding(0.9);
  for (let at = 0; at < 12; at++)
    now = afterOutcome(now, { outcome: "worked", atMs: NOW_MS + at, reason: null, weight: 1 });
  expect(now).toMatchObject({ score: 1, uses: 12, successes: 12, lastUsedMs: NOW_MS + 11 });
  expect(now.past.map(({ atMs }) => atMs - NOW_MS)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(afterOutcome(newStanding(0.1), { outcome: "failed", atMs: NOW_MS, reason: "no", weight: 1 }).score).toBe(0);
});

test("an outcome with half the weight changes score and successes half as much", () => {
  const half = afterOutcome(newStanding(0.5), { outcome: "worked", atMs: NOW_MS, reason: null, weight: 0.5 });
  expect(half).toMatchObject({ score: 0.6, uses: 1, successes: 0.5 });
});

test("a score of 0.7 + 0.2 reaches the 0.9 that a promotion needs, in spite of floating-point errors", () => {
  const now = afterOutcome(standing(0.7, 4, 4), { outcome: "worked", atMs: NOW_MS, reason: null, weight: 1 });
  expect(fate("history", now, 0)).toEqual({ kind: "moves", to: "patterns" });
});

test("memories with a low score are deleted, new memories only at a still lower score, and facts and books never", () => {
  const bad = standing(0.15, 3, 0);
  expect(fate("working", bad, 7 * DAY_MS)).toEqual({ kind: "stays" });
  expect(fate("working", bad, 7 * DAY_MS + 1)).toEqual({ kind: "goes" });
  expect(fate("history", standing(0.05, 3, 0), 0)).toEqual({ kind: "goes" });
  expect(fate("memory_bank", standing(0, 9, 0), 30 * DAY_MS)).toEqual({ kind: "stays" });
  expect(fate("books", standing(0, 9, 0), 30 * DAY_MS)).toEqual({ kind: "stays" });
});

test("a working memory expires after a day, and a history memory after thirty days", () => {
  expect(aged("working", standing(0.5, 1, 1), 24 * HOUR_MS)).toEqual({ kind: "stays" });
  expect(aged("working", standing(0.5, 1, 1), 24 * HOUR_MS + 1)).toEqual({ kind: "goes" });
  expect(aged("working", standing(0.8, 2, 2), 25 * HOUR_MS)).toEqual({ kind: "moves", to: "history" });
  expect(aged("history", standing(0.8, 4, 4), 31 * DAY_MS)).toEqual({ kind: "goes" });
  expect(aged("patterns", standing(0.8, 9, 9), 999 * DAY_MS)).toEqual({ kind: "stays" });
  expect([isGarbage("working", { score: 0.19 }), isGarbage("memory_bank", { score: 0 })]).toEqual([true, false]);
});

test("the outcomes of a proven memory count more in its rank", () => {
  const share = (uses: number, learned: number, collection: "working" | "memory_bank" = "working", weight = USUAL) =>
    learnedShare({ collection, standing: { score: 0.5, uses, successes: uses }, weight }, learned);
  expect([share(5, 0.8), share(3, 0.7), share(2, 0.5), share(2, 0.49), share(1, 1)]).toEqual([
    0.8, 0.75, 0.65, 0.3, 0.2,
  ]);
  expect(share(0, 0.81, "memory_bank", { importance: 0.9, confidence: 0.9 })).toBe(0.55);
  expect(share(0, 0.49, "memory_bank")).toBe(0.5);
});

test("contradictory outcomes count less, and the newest outcomes count most", () => {
  const past = (signs: string) =>
    [...signs].map((sign, atMs): PastOutcome => ({ outcome: sign === "Y" ? "worked" : "failed", atMs, reason: null }));
  const [clear, mixed] = [wrongShare(Array(20).fill(past("YYYY"))), wrongShare(Array(20).fill(past("YNYN")))];
  expect(wrongShare([])).toBeCloseTo(0.026, 3);
  expect([clear, mixed]).toEqual([0.01, expect.closeTo(0.43, 2)]);
  const of = (signs: string, wrong = clear, isHere = true) =>
    trust(
      past(signs).map(({ outcome }) => ({ outcome, isHere })),
      wrong,
    );
  expect(of("")).toBe(1);
  expect(of("N"), "one failure is enough if nobody else fails").toBeLessThan(0.1);
  expect(of("N", mixed), "a failure says little if many fail").toBeGreaterThan(0.7);
  expect(of("YYYNN")).toBeLessThan(of("NNYYY"));
  expect(of("YYYN"), "one failure takes a proven memory below an untried one").toBeLessThan(1);
  expect(of("YY")).toBeGreaterThan(1.6);
  expect(of("YY", clear, false), "success elsewhere raises no rank here").toBe(1);
  expect(of("N", clear, false)).toBe(of("N"));
});

test("a new memory ranks before a less similar proven memory, and before an equally similar failed memory", () => {
  const of = (similarity: number, uses: number, successes: number, score = 0.5, trusted = 1) =>
    worth({ collection: "working", standing: { score, uses, successes }, weight: USUAL }, similarity, trusted);
  expect(of(0.7, 0, 0)).toBeGreaterThan(of(0.6, 50, 50, 1, 1.67));
  expect(of(0.7, 3, 3, 1)).toBeGreaterThan(of(0.7, 1, 1, 0.7));
  expect(of(0.7, 1, 1, 0.7)).toBeGreaterThan(of(0.7, 0, 0));
  expect(of(0.7, 4, 1, 0.2)).toBeLessThan(of(0.7, 0, 0));
  expect(of(0.66, 9, 9, 1, 1.6)).toBeGreaterThan(of(0.68, 3, 1, 0.3, 0.4));
  expect(of(0.7, 3, 3, 0.8), "a signal has spoken against the memory").toBeLessThan(of(0.7, 3, 3, 1));
  const fact = (weight: typeof USUAL) =>
    worth({ collection: "memory_bank", standing: { score: 0.5, uses: 0, successes: 0 }, weight }, 0.7, 1);
  expect(fact({ importance: 0.9, confidence: 0.9 })).toBeGreaterThan(fact(USUAL));
});

test("each reason to prefer a memory reduces its distance", () => {
  const memory = (collection: "patterns" | "memory_bank" | "books" | "working") => ({
    ...{ collection, standing: { score: 0.5, uses: 0, successes: 0 }, weight: USUAL },
  });
  expect(boosted(memory("working"), 1, PLAIN)).toBe(1);
  expect(boosted(memory("patterns"), 1, PLAIN)).toBe(0.9);
  expect(boosted(memory("memory_bank"), 1, PLAIN)).toBeCloseTo(1 - 0.4 * 0.49, 9);
  expect(boosted(memory("books"), 1, PLAIN)).toBe(0.7);
  expect(boosted(memory("books"), 1, { ...PLAIN, ageMs: 8 * DAY_MS })).toBe(1);
  expect(boosted(memory("books"), 1, { ...PLAIN, ageMs: 8 * DAY_MS, evidence: { uses: 3, rate: 1 } })).toBeCloseTo(
    1 / 1.1,
    9,
  );
  expect(boosted(memory("books"), 1, { ...PLAIN, ageMs: 8 * DAY_MS, evidence: { uses: 2, rate: 1 } })).toBe(1);
  expect(boosted(memory("working"), 1, { ...PLAIN, entities: 1.25 })).toBe(0.8);
  expect(boosted(memory("working"), 1, { ...PLAIN, solved: "exactly" })).toBe(0.8);
  expect(boosted(memory("working"), 1, { ...PLAIN, solved: "partly" })).toBe(0.9);
  expect(boosted(memory("working"), 1, { ...PLAIN, isRouted: true })).toBe(0.99);
  expect(entityBoost([0.2])).toBeCloseTo(1.04, 9);
  expect(entityBoost([1, 1, 1, 1])).toBe(1.1);
});

test("a search drops a memory far less similar than the best, unless the memory has the question's words", () => {
  const found = (name: string, cosine: number, words = 0) => ({ name, cosine, words });
  const names = (all: ReturnType<typeof found>[]): string =>
    alike(all)
      .map(({ name }) => name)
      .join("");
  expect(names([found("a", 0.8), found("b", 0.51), found("c", 0.49)])).toBe("ab");
  expect(names([found("a", 0.8, 5), found("b", 0.1, 4), found("c", 0.1, 3.9)])).toBe("ab");
  expect(names([found("a", 0.8), found("b", Number.NaN)])).toBe("ab");
  expect(names([])).toBe("");
});

test("a filter has a maximum number of fields and values, so that matching stays fast", () => {
  expect(readFilters({ tag: { $in: Array(100).fill("x") } }, undefined, NOW_MS)).toBeDefined();
  expect(() => readFilters({ tag: { $nin: Array(101).fill("x") } }, undefined, NOW_MS)).toThrow(/100 values/);
  const fields = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`field${at}`, 1]));
  expect(() => readFilters(fields, undefined, NOW_MS)).toThrow(/20 fields/);
});

test("a cross-encoder's score changes the rank only of a memory with few outcomes", () => {
  const before = 0.5;
  expect(reread({ standing: { uses: 3 }, fact: undefined, before }, fitOf(9))).toBe(before);
  expect(reread({ standing: { uses: 0 }, fact: undefined, before }, fitOf(0))).toBeCloseTo(0.5, 9);
  expect(reread({ standing: { uses: 0 }, fact: undefined, before }, fitOf(-40))).toBeCloseTo(0.3, 9);
  expect(reread({ standing: { uses: 0 }, fact: USUAL, before }, fitOf(0))).toBeCloseTo(0.5 * (1 + 0.3 * 0.49), 9);
});

test("a memory's id names its collection, and keeps its digits when the memory moves to another collection", () => {
  const ids = [
    "memory_bank_12ab34cd",
    "book_12ab34cd_chunk_0",
    "books_12ab34cd_chunk_10",
    "working_12ab34c",
    "drawer_a_1",
  ];
  expect(ids.map(isMemoryId)).toEqual([true, true, true, false, false]);
  expect(idIn("history", "working_ab12cd34")).toBe("history_ab12cd34");
  expect(idIn("history", "books_12ab34cd_chunk_0")).toBe("books_12ab34cd_chunk_0");
  expect(idsOf("patterns_ab12cd34")).toContain("working_ab12cd34");
  expect(idsOf("drawer_a_1")).toEqual([]);
});

test("a question with known concepts searches only the collections that answered it", () => {
  const tally = (successes: number, failures = 0) => ({
    successes,
    failures,
    partials: 0,
    total: successes + failures,
  });
  const known = (tallies: Route["tallies"]): Route => ({ tallies, best: "patterns", rate: 1 });
  expect(route([])).toMatchObject({ phase: "exploration", collections: { length: 5 } });
  expect(route([known({ patterns: tally(4) })])).toMatchObject({ phase: "exploration", total: 0.4 });
  expect(route([known({ patterns: tally(10), history: tally(2), books: tally(1) })])).toMatchObject({
    ...{ phase: "medium", collections: ["patterns", "history"] },
  });
  expect(route([known({ patterns: tally(10) }), known({ patterns: tally(9), history: tally(10, 1) })])).toMatchObject({
    ...{ phase: "high", collections: ["patterns", "history"], known: 2 },
  });
});

test("a concept's outcomes are counted by collection, and its best collection is the one with the highest rate of success", () => {
  let now = afterRouted(undefined, "history", "failed");
  expect(now).toMatchObject({ best: "history", rate: 0.5 });
  now = afterRouted(now, "patterns", "worked");
  now = afterRouted(now, "patterns", "partial");
  expect(now).toEqual({
    tallies: {
      history: { successes: 0, failures: 1, partials: 0, total: 1 },
      patterns: { successes: 1, failures: 0, partials: 1, total: 2 },
    },
    ...{ best: "patterns", rate: 1 },
  });
});

test("a filter compares values, days and bounds", () => {
  const past = [{ outcome: "worked" as const, atMs: 0, reason: null }];
  const standing = { ...newStanding(0.7), uses: 3, successes: 2.5, past };
  const held = { metadata: { created_at: "2026-05-01T10:00:00Z", kind: "note" }, standing };
  expect(matches(held, { created_at: "2026-05-01" })).toBe(true);
  expect(matches(held, { created_at: { $gte: "2026-04-30", $lt: "2026-05-02" } })).toBe(true);
  expect(matches(held, { created_at: { $lt: "2026-05-01" } })).toBe(false);
  expect(matches(held, { uses: { $gte: 3 }, kind: { $in: ["note", "word"] } })).toBe(true);
  expect(matches(held, { uses: { $gt: "2" } })).toBe(false);
  // Filters use Roampal's names for the fields of outcomes.
  expect(matches(held, { score: 0.7, uses: 3, success_count: { $gte: 2.5 }, last_outcome: "worked" })).toBe(true);
  expect(matches(held, { last_outcome: "failed" })).toBe(false);
  const used = { ...held, standing: { ...standing, lastUsedMs: Date.UTC(2026, 4, 2) } };
  expect(matches(used, { last_used: "2026-05-02" })).toBe(true);
  expect(matches(held, { absent: "x" })).toBe(false);
  expect(matches(held, { absent: { $ne: "x" } })).toBe(true);
  expect(matches(held, { last_used: { $lt: "2026" } })).toBe(true);
  expect(unknownOperator({ uses: { $near: 3 } })).toBe("$near");
  expect(unknownOperator({ uses: { $in: [3] }, kind: "x" })).toBeUndefined();
});

test("a list is sorted by time or score, with unknown times last", () => {
  const memory = (id: string, score: number, metadata: Record<string, string>) => ({ id, score, metadata });
  const all = [
    memory("a", 0.5, { created_at: "2026-01-01" }),
    memory("b", 0.9, {}),
    memory("c", 0.1, { timestamp: "2026-03-01", created_at: "2025-01-01" }),
  ];
  const ids = (by: "relevance" | "recency" | "score"): string =>
    sorted(all, by)
      .map(({ id }) => id)
      .join("");
  expect([ids("relevance"), ids("recency"), ids("score")]).toEqual(["abc", "cab", "bac"]);
});

test("a question counts as asking for recent events only if it has a whole word such as `last`", () => {
  expect(["what did we do last", "Just now?", "the latest"].every(asksForRecent)).toBe(true);
  expect(["blast radius", "dragon", "todays"].some(asksForRecent)).toBe(false);
});

test("an acronym in a question is expanded once, and an everyday word such as `us` only if it is in capitals", () => {
  expect(spelledOut("fix  the\nAPI.")).toBe("fix the API. application programming interface");
  expect(spelledOut("api of the application programming interface")).toBe(
    "api of the application programming interface",
  );
  expect(spelledOut("tell us the rest")).toBe("tell us the rest");
  expect(spelledOut("the US tax")).toBe("the US tax united states");
});

test("the kind of a conversation is the kind with the most keywords in its text", () => {
  expect(contextType("my build fails in a test")).toBe("coding");
  expect(contextType("tax on savings and income, error")).toBe("finance");
  expect(contextType("hello")).toBe("general");
});

test("a weight may be a word, a number, a number as text, or a list with one of these", () => {
  expect(["high", "Medium", ["low"], "0.25", 3, "", null, "what"].map((value) => readWeight(value, 0.7))).toEqual([
    ...[0.9, 0.7, 0.5, 0.25, 1, 0.7, 0.7, 0.7],
  ]);
});

test("the fact to which a text refers is found by words or by meaning", () => {
  const near = [
    { id: "one", text: "The user likes tea", cosine: 0.7 },
    { id: "two", text: "tea", cosine: 0.5 },
  ];
  expect(meantFact("likes TEA", near, NEAR_ENOUGH.update)).toBe("one");
  expect(meantFact("my tea", near, 1)).toBe("two");
  expect(meantFact("drinks", near, NEAR_ENOUGH.update)).toBeUndefined();
  expect(meantFact("drinks", near, NEAR_ENOUGH.archive)).toBe("one");
  expect(["e", "user", ""].map((text) => meantFact(text, near, 1))).toEqual([undefined, undefined, undefined]);
});

test("ages, outcomes and times are written in short form", () => {
  const ages = [0, 61_000, 2 * HOUR_MS, DAY_MS, 30 * DAY_MS, 31 * DAY_MS, 365 * DAY_MS, 800 * DAY_MS];
  expect(ages.map((ms) => age(NOW_MS - ms, NOW_MS))).toEqual(["now", "1m", "2h", "1d", "30d", "1mo", "12mo", "2y"]);
  expect([20_000, 60_000, 3 * HOUR_MS].map((ms) => recency(NOW_MS - ms, NOW_MS))).toEqual([
    ...["just now", "1 minutes ago", "3 hours ago"],
  ]);
  expect(pastSigns([{ outcome: "failed" }, { outcome: "worked" }, { outcome: "partial" }, { outcome: "failed" }])).toBe(
    "[Y~N]",
  );
  expect(pastSigns([])).toBe("");
  expect(timeOf("2026-06-01T00:00:00")).toBe(NOW_MS);
  expect(timeOf("2026-06-01T02:00:00+02:00")).toBe(NOW_MS);
  expect(timeOf("2026-06-01")).toBe(NOW_MS);
  expect(["yesterday", "note 3", "0", "2026-13-01"].map(timeOf)).toEqual([NaN, NaN, NaN, NaN]);
});

test("the broker asks for an exchange's score once, after the user replied to a completed answer", () => {
  const first = onPrompt(newConversation("pi/1", "pi", NOW_MS), false, NOW_MS);
  expect(first).toMatchObject({ turn: 1, isAsked: false });
  const second = onPrompt(onStop(first, "working_1", NOW_MS), true, NOW_MS);
  expect(second).toMatchObject({ turn: 2, isAsked: true, isScored: false });
  // The answer was interrupted, so nobody can judge it.
  expect(onPrompt(second, true, NOW_MS)).toMatchObject({ isAsked: false });
  // The answer was not stored, and the next message does not judge an older answer.
  const unkept = onStop(second, undefined, NOW_MS);
  expect(unkept).toMatchObject({ isCompleted: true, exchange: null, isAsked: false });
  expect(onPrompt(unkept, false, NOW_MS)).toMatchObject({ isCompleted: false, isAsked: false });
  // A forgotten exchange cannot be scored, so the broker does not ask.
  const next = onStop({ ...second, isScored: true }, "working_2", NOW_MS);
  expect(onPrompt(next, false, NOW_MS)).toMatchObject({ isAsked: false });
  expect(onPrompt(next, true, NOW_MS)).toMatchObject({ isAsked: true });
});
