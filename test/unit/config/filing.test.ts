import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadConfig } from "../../../src/config/config.ts";
import type { FilingSettings } from "../../../src/config/filing.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "settings-"));
  mkdirSync(join(home, ".mempalace"));
});
afterEach(() => rmSync(home, { recursive: true }));

const filing = (content: unknown, env: Record<string, string> = {}): FilingSettings => {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  writeFileSync(join(home, ".mempalace/config.json"), text);
  return loadConfig({ HOME: home, ...env }).filing();
};
const USUAL: FilingSettings = {
  cut: { size: 800, overlap: 100, sizeMin: 50 },
  ...{ transcriptMin: undefined, halls: undefined, hallwayMin: undefined, topicsMin: undefined },
  ...{ languages: ["en"], ignored: [] },
};

test("the defaults apply without a file, and an unusable file is reported", () => {
  expect(loadConfig({ HOME: join(home, "nobody") }).filing()).toEqual(USUAL);
  expect(filing({})).toEqual(USUAL);
  for (const content of ["", "{", "[]", "null", '"x"'])
    expect(filing(content)).toEqual({ ...USUAL, ignored: [expect.stringMatching(/^config.json is not used: /)] });
});

test("the reader of config.json skips a byte order mark", () =>
  expect(filing('\uFEFF{"chunk_size": 400}').cut).toEqual({ size: 400, overlap: 100, sizeMin: 50 }));

test("the filing settings are read from config.json again at each use", () => {
  const config = loadConfig({ HOME: home });
  expect(config.filing().cut.size).toBe(800);
  filing({ chunk_size: 500 });
  expect(config.filing().cut.size).toBe(500);
});

test.each([
  ["valid sizes are used unchanged", { chunk_size: 10, chunk_overlap: 5, min_chunk_size: 10 }, [10, 5, 10], 0],
  [
    "a size in Python's number format is accepted",
    { chunk_size: " 1_000 ", chunk_overlap: 7.9, min_chunk_size: "+3" },
    [1000, 7, 3],
    0,
  ],
  [
    "an invalid size is replaced by the default",
    { chunk_size: 0, chunk_overlap: "1.5", min_chunk_size: [] },
    [800, 100, 50],
    3,
  ],
  ["the overlap is at most half of the size", { chunk_size: 101, chunk_overlap: 51 }, [101, 50, 50], 1],
  ["an invalid minimum is replaced by the default", { chunk_size: 60, min_chunk_size: 61 }, [60, 30, 50], 1],
  ["the default minimum is at most the size", { chunk_size: 40 }, [40, 20, 40], 0],
  ["a huge size is reduced to the limit", { chunk_size: 1e9, chunk_overlap: 1e9 }, [100_000, 100, 50], 2],
])("%s", (_, content, [size, overlap, sizeMin], told) => {
  const { cut, ignored } = filing(content);
  expect(cut).toEqual({ size, overlap, sizeMin });
  expect(ignored).toHaveLength(told);
});

test("a transcript has its own minimum size until the user sets a valid minimum", () => {
  for (const given of [undefined, null, true, "x", -1, 801])
    expect(filing({ min_chunk_size: given }).transcriptMin).toBe(undefined);
  expect(filing({ min_chunk_size: "0" }).transcriptMin).toBe(0);
  expect(filing({ min_chunk_size: 5, chunk_size: 4 }).transcriptMin).toBe(undefined);
});

test("the settings keep the order of hall keywords and report unusable keywords", () => {
  expect(filing({ hall_keywords: { b: ["x", "Y"], a: [], c: "yz" } })).toMatchObject({
    halls: [
      ["b", ["x", "Y"]],
      ["a", []],
      ["c", ["y", "z"]],
    ],
    ignored: [],
  });
  const { halls, ignored } = filing({ hall_keywords: { a: ["x", 7, "y".repeat(300)], b: 5 } });
  expect(halls).toEqual([
    ["a", ["x"]],
    ["b", []],
  ]);
  expect(ignored).toHaveLength(2);
  expect(filing({ hall_keywords: ["x"] })).toMatchObject({
    halls: undefined,
    ignored: [expect.stringMatching("hall_keywords")],
  });
  const many = filing({ hall_keywords: { a: Array(3_000).fill("x"), b: ["y"] } });
  expect(many.halls?.map(([, words]) => words.length)).toEqual([2_000, 0]);
});

test("the minimum counts for hallways and topic tunnels in the environment win over the file", () => {
  const names = { MEMPALACE_KG_HALLWAY_MIN_COUNT: "5", MEMPALACE_TOPIC_TUNNEL_MIN_COUNT: "6" };
  const file = { hallway_min_count: 3, topic_tunnel_min_count: "4" };
  expect(filing(file)).toMatchObject({ hallwayMin: 3, topicsMin: 4, ignored: [] });
  expect(filing(file, names)).toMatchObject({ hallwayMin: 5, topicsMin: 6, ignored: [] });
  const none = { MEMPALACE_KG_HALLWAY_MIN_COUNT: "0", MEMPALACE_TOPIC_TUNNEL_MIN_COUNT: "many" };
  expect(filing(file, none)).toMatchObject({
    hallwayMin: 3,
    topicsMin: 4,
    ignored: [expect.stringMatching("HALLWAY"), expect.stringMatching("TOPIC")],
  });
  const odd = { hallway_min_count: -3, topic_tunnel_min_count: true };
  expect(filing(odd)).toMatchObject({ hallwayMin: 1, topicsMin: 1, ignored: [] });
  const bad = { hallway_min_count: "x", topic_tunnel_min_count: [] };
  expect(filing(bad)).toMatchObject({
    hallwayMin: undefined,
    topicsMin: undefined,
    ignored: [expect.stringMatching("hallway"), expect.stringMatching("topic")],
  });
});

test("languages in the environment win over the file, and English is the default", () => {
  expect(filing({ entity_languages: ["de", "en"] }).languages).toEqual(["de", "en"]);
  expect(filing({ entity_languages: "de" }).languages).toEqual(["en"]);
  expect(filing({ entity_languages: [] }).languages).toEqual(["en"]);
  const file = { entity_languages: ["de"] };
  expect(filing(file, { MEMPALACE_ENTITY_LANGUAGES: "ru, fr,", MEMPAL_ENTITY_LANGUAGES: "it" }).languages).toEqual([
    "ru",
    "fr",
  ]);
  expect(filing(file, { MEMPAL_ENTITY_LANGUAGES: "it" }).languages).toEqual(["it"]);
  expect(filing(file, { MEMPALACE_ENTITY_LANGUAGES: " , " }).languages).toEqual(["en"]);
});
