/** Tests the fields of each hit and of the whole search answer, on a real ledger without a model. */
import { expect, test } from "vitest";
import { confidenceOf, isWeakMatch } from "../../../src/memory/search/confidence.ts";
import { createSearchPalace } from "../../helpers/search-palace.ts";

const NOTES = [
  "The harbour master keeps the tide tables in the blue cabinet.",
  "Anchor chains are inspected every spring by the crew.",
  "Lantern oil is bought from the chandler in the old town.",
];

test("explain shows the parts of a hit's score, and their sum is the score", async () => {
  await using palace = await createSearchPalace();
  NOTES.forEach((note) => palace.file(note));
  const { results } = await palace.search("blue cabinet of the harbour", { explain: true });
  const best = results[0] as Record<string, unknown>;
  expect(best).toMatchObject({
    explain: {
      mode: "static",
      cosine: null,
      bm25: { share_of_best: 1 },
      weights: { cosine: 0, meaning: 0.58, words: 0.42, pairs: 0.3, source: 0.3, identifiers: 0.2 },
      query_words_held: 1,
      promoted: [],
      demoted: [],
    },
  });
  const {
    bm25,
    static_cosine: meaning,
    confidence,
  } = best["explain"] as {
    bm25: Record<"drawer" | "pairs" | "source" | "total", number>;
    static_cosine: number;
    confidence: number;
  };
  expect(meaning).toBeGreaterThan(0.4);
  expect(best["score"]).toBeCloseTo(0.58 * meaning + 0.42, 3);
  expect(confidence).toBeCloseTo((meaning + 1) / 2, 2);
  expect(bm25.drawer).toBeGreaterThan(0);
  expect(bm25.pairs).toBeGreaterThan(0);
  expect(bm25.total).toBeCloseTo(bm25.drawer + 0.3 * bm25.pairs + 0.3 * bm25.source, 2);
  expect((await palace.search("harbour")).results[0]).not.toHaveProperty("explain");
});

test("a match that shares few words with the question is marked weak; a good match is not", async () => {
  await using palace = await createSearchPalace();
  NOTES.forEach((note) => palace.file(note));
  const weak = await palace.search("crew salaries negotiated yesterday by telephone");
  expect(weak).toMatchObject({ weak_match: true, results: [{ text: NOTES[1], weak: true }] });
  expect(weak["notice"]).toMatch(/^Weak match/);

  const good = await palace.search("Who inspects the anchor chains?");
  expect(good.results[0]).toMatchObject({ text: NOTES[1] });
  for (const key of ["weak_match", "nothing_found", "notice"]) expect(good).not.toHaveProperty(key);
  expect(good.results[0]).not.toHaveProperty("weak");
});

test("an empty result says that no drawer was found", async () => {
  await using palace = await createSearchPalace();
  palace.file(NOTES[0] as string);
  const nothing = { results: [], nothing_found: true };
  expect(await palace.search("", { wing: "elsewhere" })).toMatchObject(nothing);
  expect(await palace.search("zebra")).toMatchObject({ ...nothing, notice: "Nothing found." });
  expect(await palace.search("harbour", { wing: "elsewhere" })).toMatchObject(nothing);
});

test("with a static or model vector the cosine makes up half of the confidence", () => {
  const words = {
    ...{ drawer: 1, pairs: 0, source: 0, coverage: 0.5 },
    ...{ identifiers: 0, names: 0, file: 0, meaning: Number.NaN },
  };
  expect(confidenceOf({ cosine: 0.9, words })).toBeCloseTo(0.7);
  expect(confidenceOf({ cosine: -0.2, words })).toBe(0.25);
  expect(confidenceOf({ cosine: Number.NaN, words })).toBe(0.5);
  expect(confidenceOf({ cosine: Number.NaN, words: { ...words, meaning: 0.9 } })).toBeCloseTo(0.7);
  expect([0.17, 0.19].map((cosine) => isWeakMatch({ cosine, words }, 800))).toEqual([true, false]);
});

test("every hit has its id, its source, and its times of writing and filing", async () => {
  await using palace = await createSearchPalace();
  const id = palace.file(NOTES[0] as string, { source_file: "/notes/harbour.md" });
  const [hit] = (await palace.search("harbour")).results;
  expect(hit).toMatchObject({
    drawer_id: id,
    source_file: "harbour.md",
    source_path: "/notes/harbour.md",
    filed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
    authored_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
    authored_at_source: "filed_at",
  });
});
