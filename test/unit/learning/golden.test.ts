/** Test vectors of outcome-memory.md 12, to six decimals. */
import { expect, test } from "vitest";
import { chunks } from "../../../src/learning/memory/cut-book.ts";
import { concepts } from "../../../src/learning/question/concepts.ts";
import { fuseByPlace } from "../../../src/learning/search/fusion.ts";
import type { Standing, Telling } from "../../../src/memory/port/outcome.ts";
import { newStanding, type Collection } from "../../../src/learning/memory/memory.ts";
import { afterOutcome } from "../../../src/learning/scoring/apply-outcome.ts";
import { fate } from "../../../src/learning/scoring/promotion.ts";
import { rank } from "../../../src/learning/search/ranking.ts";
import { timeWeight } from "../../../src/learning/scoring/time-weight.ts";
import { wilson } from "../../../src/learning/scoring/wilson.ts";

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 5, 1);

test.each([
  [0, 1, 0],
  [0.25, 1, 0.014635],
  [0.5, 1, 0.054621],
  [1, 1, 0.206549],
  [2, 2, 0.34238],
  [3, 3, 0.438503],
  [4, 4, 0.510109],
  [5, 5, 0.565518],
  [3, 5, 0.230724],
  [0.75, 3, 0.036841],
  [9, 10, 0.59585],
  [10, 10, 0.722467],
  [20, 20, 0.838875],
  [90, 100, 0.825634],
  [0, 0, 0.5],
])("Wilson's lower bound for %d successes in %d uses is %d", (successes, uses, bound) => {
  expect(wilson(successes, uses)).toBeCloseTo(bound, 6);
});

test("the success rate's lower bound reaches 0.5, 0.7, 0.8 and 0.9 after 4, 9, 16 and 35 uses without failure", () => {
  const smallest = [0.5, 0.7, 0.8, 0.9].map((bound) => {
    let uses = 1;
    while (wilson(uses, uses) < bound) uses++;
    return uses;
  });
  expect(smallest).toEqual([4, 9, 16, 35]);
});

test.each([
  { collection: "working", score: 0.5, uses: 0, successes: 0, distance: 1, learned: 0.5, final: 0.5 },
  { collection: "working", score: 0.7, uses: 1, successes: 1, distance: 1, learned: 0.535516, final: 0.507103 },
  { collection: "history", score: 0.9, uses: 2, successes: 2, distance: 1, learned: 0.528253, final: 0.518365 },
  { collection: "history", score: 0.9, uses: 3, successes: 3, distance: 0.5, learned: 0.438503, final: 0.598218 },
  { collection: "patterns", score: 1, uses: 10, successes: 10, distance: 0.5, learned: 0.722467, final: 0.708517 },
  { collection: "patterns", score: 1, uses: 20, successes: 20, distance: 0.5, learned: 0.838875, final: 0.804433 },
  { collection: "working", score: 0.3, uses: 2, successes: 0.5, distance: 0.5, learned: 0.117785, final: 0.502002 },
] as const)(
  "a memory of $collection with $successes successes in $uses uses, score $score and distance $distance ranks $final",
  ({ collection, distance, learned, final, ...standing }) => {
    const ranked = rank({ collection, standing, weight: { importance: 0.7, confidence: 0.7 } }, distance);
    expect(ranked.learned).toBeCloseTo(learned, 6);
    expect(ranked.final).toBeCloseTo(final, 6);
  },
);

test.each([
  { weight: 0.9, uses: 0, learned: 0.81, final: 0.6955 },
  { weight: 0.7, uses: 0, learned: 0.49, final: 0.522778 },
  { weight: 0.9, uses: 4, learned: 0.750022, final: 0.701405 },
])("importance and confidence $weight with $uses successes rank a fact $final", ({ weight, uses, learned, final }) => {
  const standing = { score: 1, uses, successes: uses };
  const ranked = rank({ collection: "memory_bank", standing, weight: { importance: weight, confidence: weight } }, 0.8);
  expect(ranked.learned).toBeCloseTo(learned, 6);
  expect(ranked.final).toBeCloseTo(final, 6);
});

test.each([
  [0, 1],
  [7, 0.810811],
  [15, 0.666667],
  [30, 0.5],
  [60, 0.333333],
  [90, 0.25],
])("after %d days an outcome counts %d", (days, weight) => {
  expect(timeWeight(NOW_MS - days * DAY_MS, NOW_MS)).toBeCloseTo(weight, 6);
});

test("30 days after a memory's last use, the outcome `worked` adds 0.1 and `failed` subtracts 0.15", () => {
  const standing = { ...newStanding(0.5), lastUsedMs: NOW_MS - 30 * DAY_MS };
  const score = (outcome: Telling): number =>
    afterOutcome(standing, { outcome, atMs: NOW_MS, reason: null, weight: 1 }).score;
  expect([score("worked"), score("failed")]).toEqual([0.6, 0.35]);
});

/** Returns a memory's score, uses and collection after each outcome. */
function life(collection: Collection, standing: Standing, outcomes: readonly Telling[]): string[] {
  let [place, now]: [Collection | "deleted", Standing] = [collection, standing];
  return outcomes.map((outcome) => {
    if (place === "deleted") return "deleted";
    now = afterOutcome(now, { outcome, atMs: NOW_MS, reason: null, weight: 1 });
    const what = fate(place, now, 0);
    place = what.kind === "moves" ? what.to : what.kind === "goes" ? "deleted" : place;
    return `${now.score}/${now.uses} ${place}`;
  });
}

test("outcomes move a memory from the working collection up to the proven memories, and back down until it is deleted", () => {
  const standing = (score: number, uses: number, successes: number): Standing => ({
    ...newStanding(score),
    ...{ uses, successes, lastUsedMs: NOW_MS },
  });
  expect(life("working", newStanding(0.5), ["worked", "worked"])).toEqual(["0.7/1 working", "0.9/2 history"]);
  expect(life("history", standing(0.9, 2, 2), ["worked", "worked", "worked"])).toEqual([
    ...["1/3 history", "1/4 history", "1/5 patterns"],
  ]);
  expect(life("patterns", standing(0.5, 5, 5), ["failed"])).toEqual(["0.2/6 history"]);
  expect(life("history", standing(0.2, 6, 5), ["failed"])).toEqual(["0/7 deleted"]);
});

test("fusing several ranked lists adds the scores of a memory that is in several lists", () => {
  const scores = fuseByPlace([["a", "b", "c"], ["d", "e", "a"], ["f"]]);
  const of = (id: string): number | undefined => scores.find((one) => one.id === id)?.score;
  expect(of("f")).toBeCloseTo(0.016667, 6);
  expect(of("a")).toBeCloseTo(0.032796, 6);
  expect(scores[0]?.id).toBe("a");
});

test("a book is cut at sentences, or else in windows of fixed size", () => {
  const lengths = (text: string, cut?: { size: number; overlap: number }): number[] =>
    chunks(text, cut).map(({ length }) => length);
  const sentences = (count: number, length: number): string =>
    Array(count)
      .fill(`${"x".repeat(length - 1)}.`)
      .join(" ");
  expect(lengths("x".repeat(1001))).toEqual([1000, 201]);
  expect(lengths("x".repeat(1700))).toEqual([1000, 900, 100]);
  expect(lengths("x".repeat(2500))).toEqual([1000, 1000, 900, 100]);
  expect(lengths(sentences(30, 100))).toEqual([908, 908, 908, 605]);
  expect(lengths(sentences(5, 400))).toEqual([801, 801, 400]);
  expect(lengths(`${sentences(1, 1500)} ${sentences(1, 50)}`)).toEqual([1500, 50]);
  expect(lengths(sentences(6, 20), { size: 50, overlap: 20 })).toEqual([41, 41, 41, 41, 41]);
  expect(lengths("short")).toEqual([5]);
});

test.each([
  [
    "How do I configure TypeScript strict mode?",
    "configure configure_typescript configure_typescript_strict mode strict strict_mode typescript typescript_strict typescript_strict_mode",
  ],
  [
    "Docker Compose networking error",
    "compose compose_networking compose_networking_error docker docker_compose docker_compose_networking error networking networking_error",
  ],
  ["fix the search_memory function", ""],
  [
    "User's git-rebase workflow with Node.js 20",
    "git-rebase git-rebase_workflow git-rebase_workflow_node node user user_git-rebase user_git-rebase_workflow workflow workflow_node",
  ],
])("the text %j has the concepts: %s", (text, expected) => {
  expect(concepts(text).join(" ")).toBe(expected);
});
