/** Phrases, dates, neighbours, ended facts and near-duplicates through the search tool, on a real ledger searched by words. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSearchPalace, type SearchPalace } from "../../helpers/search-palace.ts";

let palace: SearchPalace;
beforeAll(async () => void (palace = await createSearchPalace()));
afterAll(() => palace[Symbol.asyncDispose]());

test("quoted words must stand one after the other as they are; where none does, that is said", async () => {
  const place = { wing: "phrases" };
  const near = palace.file("The red boats lay at the shore.", place);
  palace.file("A boat, red as rust: red boat of the harbour.", place);
  palace.file("A boat lay red at the shore beside the red cart.", place);
  expect(await palace.texts('"red boat" at the shore', place)).toEqual([
    "A boat, red as rust: red boat of the harbour.",
  ]);
  const answer = await palace.search('which "Red Boats"', place);
  expect(answer).toMatchObject({ phrases: { quoted: ["Red Boats"], found: true }, results: [{ drawer_id: near }] });

  const none = await palace.search('"boat shore"', place);
  expect(none).toMatchObject({ phrases: { quoted: ["boat shore"], found: false } });
  expect(none.results).toHaveLength(3);
  expect(none["notice"]).toMatch(/^No drawer has "boat shore" word for word/);
});

/** As the feeder of documents files one; its drawers have 800 characters. */
function fileSource(wing: string, sourceFile: string, content: string, contentDate?: string): void {
  const source = { wing, room: "r", sourceFile, content, sha256: sourceFile, mtime: 1 };
  palace.write("source.replace", { ...source, ...(contentDate !== undefined && { contentDate }) });
}

test("a drawer of the day asked for moves up, and none is left out", async () => {
  const days = ["2023-03-02", "2023-05-08", "2023-06-11"];
  for (const day of days)
    fileSource(
      "dated",
      `/diary/${day.replaceAll("-", "")}.md`,
      `We mended the fence of the garden behind the house, part ${day.slice(6)} of a long story.`,
      day,
    );
  const asked = async (query: string, now?: string): Promise<unknown> => {
    const { results } = await palace.search(query, { wing: "dated", explain: true, ...(now !== undefined && { now }) });
    expect(results).toHaveLength(days.length);
    const [{ content_date, explain }] = results as Record<string, unknown>[] as [Record<string, unknown>];
    return [content_date, (explain as { promoted: object[] }).promoted.length];
  };
  expect(await asked("the fence on 8 May 2023")).toEqual(["2023-05-08", 1]);
  expect(await asked("the fence in June")).toEqual(["2023-06-11", 1]);
  expect(await asked("the fence we mended last month", "2023-04-10")).toEqual(["2023-03-02", 1]);
  expect(await asked("the fence we mended last month")).toEqual([expect.any(String), 0]);
  expect(await palace.search("fence", { now: "soon" })).toHaveProperty("error");
});

test("neighbours of a hit come from its own source, in order, as many as asked for", async () => {
  const paragraph = (name: string): string =>
    `${name}. ${`The ${name} part of the log speaks of ${name}. `.repeat(16)}`;
  fileSource("logs", "/log.md", ["alpha", "bravo", "charlie", "delta", "echo"].map(paragraph).join("\n\n"));
  fileSource("logs", "/other.md", paragraph("zulu"));
  type Slices = { chunk_index: number; text: string }[];
  const of = async (neighbors: number): Promise<[before: Slices, text: string, after: Slices]> => {
    const [hit] = (await palace.search("charlie", { wing: "logs", limit: 1, neighbors })).results;
    const { before, after } = (hit as unknown as { neighbors: Record<"before" | "after", Slices> }).neighbors;
    return [before, hit?.text ?? "", after];
  };
  const [[one, ...noMore], text, [next, ...nor]] = await of(1);
  expect([noMore, nor]).toEqual([[], []]);
  expect([one?.text, text, next?.text].map((slice) => /bravo|charlie|delta|zulu/.test(slice ?? ""))).toEqual([
    true,
    true,
    true,
  ]);
  expect((next?.chunk_index ?? 0) - (one?.chunk_index ?? 0)).toBe(2);

  const [before, , after] = await of(9);
  expect([...before, ...after].some((slice) => slice.text.includes("zulu"))).toBe(false);
  expect(before.map((slice) => slice.chunk_index)).toEqual(before.map((_, at) => at));
  expect(after.map((slice) => slice.chunk_index)).toEqual(after.map((_, at) => before.length + 1 + at));
  expect(before.length + after.length).toBeGreaterThan(3);
  expect(before.at(-1)).toEqual(one);
  expect((await palace.search("charlie", { wing: "logs" })).results[0]).not.toHaveProperty("neighbors");
});

test("the slices of one long drawer are neighbours too", async () => {
  const text = Array.from({ length: 4 }, (_, at) => `slice${at} `.repeat(110)).join("");
  const id = palace.file(text, { wing: "long" });
  const [hit] = (await palace.search("slice0", { wing: "long", limit: 1, neighbors: 1 })).results;
  expect(hit).toMatchObject({
    drawer_id: id,
    neighbors: {
      before: [],
      after: [{ drawer_id: expect.stringContaining(`${id}_chunk_`) as string, chunk_index: 1 }],
    },
  });
});

test("a drawer that states an ended fact is labelled and moved down, unless it tells of the change", async () => {
  const wing = { wing: "people" };
  const [old, fresh, change] = [
    "Alice works at Acme and likes her desk there.",
    "Alice's work: she works at Globex, near the works canteen.",
    "Alice left Acme; she works at Globex now, as of June.",
  ];
  for (const text of [old, fresh, change]) palace.file(text, wing);
  const query = "where does Alice work at, Acme";
  expect((await palace.texts(query, wing))[0]).toBe(old);

  const fact = { subject: "Alice", predicate: "works at", object: "Acme" };
  palace.write("kg_add", fact);
  expect((await palace.texts(query, wing))[0]).toBe(old);
  palace.write("kg_supersede", {
    subject: "Alice",
    predicate: "works at",
    old_object: "Acme",
    new_object: "Globex",
    at: "2025-06-01",
  });
  const { results } = await palace.search(query, { ...wing, explain: true });
  const byText = new Map(results.map((hit, at) => [hit.text, { ...hit, at }]));
  const outdated = [{ fact: "Alice → works_at → Acme", ended: "2025-06-01T00:00:00Z" }];
  expect(byText.get(old)).toMatchObject({ at: 2, outdated, explain: { demoted: [{ factor: 0.6 }] } });
  expect(byText.get(change)).toMatchObject({ outdated, explain: { demoted: [] } });
  expect(byText.get(fresh)).not.toHaveProperty("outdated");
  // It was true then.
  expect((await palace.search(query, { ...wing, now: "2025-05-01" })).results.some((hit) => "outdated" in hit)).toBe(
    false,
  );

  // Said anew it holds again.
  palace.write("kg_add", { ...fact, valid_from: "2025-07-01" });
  expect((await palace.search(query, wing)).results.some((hit) => "outdated" in hit)).toBe(false);
});

test("near-duplicates are folded into the best of them, and others take their places", async () => {
  const wing = { wing: "copies" };
  const body =
    "the nightly backup of the ledger goes to the second disk since the first one was full every time we looked at it";
  const ids = ["", ".", " "].map((tail, at) => palace.file(`Backup note: ${body}${tail}`, { ...wing, room: `r${at}` }));
  palace.file("The backup of the photographs goes to the attic.", wing);
  palace.file("Nobody has tested a backup since spring.", wing);
  const { results } = await palace.search("nightly backup of the ledger", { ...wing, limit: 3 });
  expect(results).toHaveLength(3);
  const [best, ...others] = results as Record<string, unknown>[] as [
    Record<string, unknown>,
    ...Record<string, unknown>[],
  ];
  expect([best["drawer_id"], ...(best["near_duplicates"] as string[])].toSorted()).toEqual(ids.toSorted());
  for (const other of others) expect(other).not.toHaveProperty("near_duplicates");
});
