/** Tests the fields that hits get by the rank of their closets, as in upstream. Closets do not change the list of hits. */
import { expect, test } from "vitest";
import { type Hit, labelClosets } from "../../../src/memory/search/closet-search.ts";
import type { ClosetReader } from "../../../src/memory/port/closet.ts";

/** Returns a unit vector with this cosine to the question. */
const at = (cosine: number): Float32Array => new Float32Array([cosine, Math.sqrt(1 - cosine * cosine)]);
const ASKED = { vector: at(1), rows: [1, 2], filter: {} };

const hit = (source: string, more: Partial<Hit> = {}): Hit => ({
  ...{ drawer_id: `of ${source}`, text: `text of ${source}`, source_path: source },
  ...{ distance: 0.3, effective_distance: 0.3, closet_boost: 0, matched_via: "drawer", ...more },
});

function reader(
  closets: readonly [source: string, cosine: number, text?: string][],
  positions: Readonly<Record<string, { index: number; total: number }>> = {},
): { closets: ClosetReader } {
  return {
    closets: {
      ofRows: () =>
        closets.map(([sourceFile, cosine, text = `closet of ${sourceFile}`]) => ({
          ...{ sourceFile, text, vector: at(cosine) },
        })),
      positions: (ids) => new Map(ids.flatMap((id) => (positions[id] === undefined ? [] : [[id, positions[id]]]))),
      minedSources: () => [],
      count: () => closets.length,
    },
  };
}

test("without closets a search returns its hits unchanged", () => {
  const hits = [hit("/a"), hit("/b")];
  expect(labelClosets(reader([]), hits, ASKED)).toEqual(hits);
});

test("if the closets cannot be read, the search still returns its hits", () => {
  const { closets } = reader([]);
  const broken = {
    ...closets,
    ofRows: () => {
      throw new Error("database disk image is malformed");
    },
  };
  expect(labelClosets({ closets: broken }, [hit("/a")], ASKED)).toEqual([hit("/a")]);
});

test("a hit's boost depends on the rank of its source's best closet, and only five closets boost", () => {
  const sources = ["/a", "/b", "/c", "/d", "/e", "/f"];
  const closets = sources.map((source, index): [string, number] => [source, 0.9 - index / 10]);
  const found = labelClosets(
    reader(closets),
    [...sources].reverse().map((source) => hit(source)),
    ASKED,
  );
  expect(found.map((one) => [one["source_path"], one["closet_boost"], one["effective_distance"]])).toEqual([
    ["/f", 0, 0.3],
    ["/e", 0.04, 0.26],
    ["/d", 0.08, 0.22],
    ["/c", 0.15, 0.15],
    ["/b", 0.25, 0.05],
    ["/a", 0.4, 0],
  ]);
  expect(found.map((one) => one["matched_via"])).toEqual(["drawer", ...Array<string>(5).fill("drawer+closet")]);
});

test("a second closet of a source uses up a rank but gives no second boost", () => {
  const found = labelClosets(
    reader([
      ["/a", 0.9, "the best"],
      ["/a", 0.8],
      ["/b", 0.7],
    ]),
    [hit("/a"), hit("/b")],
    ASKED,
  );
  expect(found.map((one) => one["closet_boost"])).toEqual([0.4, 0.15]);
  expect(found[0]?.["closet_preview"]).toBe("the best");
});

test("a closet is ignored if it is too far from the question or has a vector of another model", () => {
  const far = reader([["/a", -0.6]]);
  expect(labelClosets(far, [hit("/a")], ASKED)).toEqual([hit("/a")]);
  expect(labelClosets(reader([["/a", 0.9]]), [hit("/a")], { ...ASKED, vector: new Float32Array(3) })).toEqual([
    hit("/a"),
  ]);
});

test("a closet's preview is cut after 200 characters, and a hit's text after 10,000 characters, with a note", () => {
  const closets = reader([["/a", 0.9, "🙂".repeat(300)]], { "of /a": { index: 2, total: 7 } });
  const [long] = labelClosets(closets, [hit("/a", { text: "ü".repeat(10_001) })], ASKED);
  expect(long).toMatchObject({ closet_preview: "🙂".repeat(200), drawer_index: 2, total_drawers: 7 });
  expect(long?.text).toBe(
    `${"ü".repeat(10_000)}\n\n[...truncated. 7 total drawers. Use mempalace_get_drawer for full content.]`,
  );
  const [whole] = labelClosets(closets, [hit("/a", { text: "ü".repeat(10_000) })], ASKED);
  expect(whole?.text).toBe("ü".repeat(10_000));
});

test("a hit gets the number of its slice or drawer, and a source's only drawer gets no number", () => {
  const closets = reader([["/a", 0.9]], { "slice of /a": { index: 1, total: 4 }, "of /a": { index: 0, total: 1 } });
  const found = labelClosets(closets, [hit("/a", { chunk_id: "slice of /a" }), hit("/a"), hit("")], ASKED);
  expect(found[0]).toMatchObject({ drawer_index: 1, total_drawers: 4 });
  expect(found[1]).not.toHaveProperty("drawer_index");
  expect(found[2]).toEqual(hit(""));
});
