/** Tests of the search tool on a real ledger searched by words: phrases, dates, neighbours, ended facts and near-duplicates. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSearchPalace, type SearchPalace } from "../../helpers/search-palace.ts";

let palace: SearchPalace;
beforeAll(async () => void (palace = await createSearchPalace()));
afterAll(() => palace[Symbol.asyncDispose]());

test("quoted words must follow each other exactly, and the answer says if no drawer contains the phrase", async () => {
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

/** Files a source like the document feeder, in drawers of 800 characters. */
function fileSource(wing: string, sourceFile: string, content: string, contentDate?: string): void {
  const source = { wing, room: "r", sourceFile, content, sha256: sourceFile, mtime: 1 };
  palace.write("source.replace", { ...source, ...(contentDate !== undefined && { contentDate }) });
}

test("a drawer from the day or month that the question names ranks higher, and no drawer is dropped", async () => {
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
  expect(await asked("what about the fence after May 2023")).toEqual(["2023-06-11", 1]);
  expect(await asked("what about the fence before 2023-05-01")).toEqual(["2023-03-02", 1]);
  fileSource("dated", "/diary/undated.md", "We mended the fence of the garden behind the house, a part without a day.");
  const { results } = await palace.search("the fence since 2020", { wing: "dated", explain: true });
  expect(results.map(({ explain }) => (explain as { promoted: object[] }).promoted.length)).toEqual([1, 1, 1, 0]);
  expect(await palace.search("fence", { now: "soon" })).toHaveProperty("error");
});

test("neighbours of a hit come from its own source, in order, up to the requested number", async () => {
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

test("the slices of one long drawer also count as neighbours", async () => {
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

test("a drawer that states an ended fact is labelled and ranks lower, unless it mentions the change", async () => {
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
  expect(byText.get(old)).toMatchObject({ at: 1, outdated, explain: { demoted: [{ factor: 0.6 }] } });
  expect(byText.get(change)).toMatchObject({ outdated, explain: { demoted: [] } });
  expect(byText.get(fresh)).not.toHaveProperty("outdated");
  // The fact was true at that time.
  expect((await palace.search(query, { ...wing, now: "2025-05-01" })).results.some((hit) => "outdated" in hit)).toBe(
    false,
  );

  // Stating the fact again makes it valid again.
  palace.write("kg_add", { ...fact, valid_from: "2025-07-01" });
  expect((await palace.search(query, wing)).results.some((hit) => "outdated" in hit)).toBe(false);
});

test("a fact that kg_invalidate ends today is outdated at once, but not in a search as of an earlier day", async () => {
  const wing = { wing: "pets" };
  const drawer = "Our cat Momo sleeps in the attic, Momo and her blanket.";
  for (const text of [drawer, "Cats sleep more than dogs do, in any house."]) palace.file(text, wing);
  palace.write("kg_add", { subject: "Momo", predicate: "sleeps in", object: "attic" });
  const labels = async (more = {}): Promise<unknown[]> =>
    (await palace.search("where does the cat Momo sleep", { ...wing, ...more })).results.map((hit) => hit["outdated"]);
  expect(await labels()).toEqual([undefined, undefined]);
  const { ended } = palace.write("kg_invalidate", { subject: "Momo", predicate: "sleeps in", object: "attic" });
  expect(ended).toMatch(/^\d{4}-\d\d-\d\d$/);
  expect(await labels()).toContainEqual([{ fact: "Momo → sleeps_in → attic", ended }]);
  expect(await labels({ now: "2020-01-01" })).toEqual([undefined, undefined]);
  palace.write("kg_add", { subject: "Momo", predicate: "sleeps in", object: "attic" });
  expect(await labels()).toEqual([undefined, undefined]);
});

test("only the best of several near-duplicates is a hit, and other drawers fill the rest of the answer", async () => {
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

/** Words that make a drawer a poor answer to questions about the sea. */
const OFFICE = "payroll, invoices and holidays of the staff in the office; ".repeat(9);

test("a different text is found behind 150 copies of one text, and the answer says if there are too many copies", async () => {
  const tides = Array.from(
    { length: 30 },
    (_, at) => `tide${"abcdefghijklmnopqrstuvwxyz".at(at % 26)}${"xyz".at(at / 26)}`,
  );
  const copy = (at: number): string => `Harbour tides: ${tides.join(" ")} ${".".repeat(at)}`;
  await using palace = await createSearchPalace();
  const file = (content: string): string => palace.file(content, { wing: "w", room: "r" });
  for (let at = 0; at < 150; at++) file(copy(at));
  const other = file(
    `A word of the harbour is also here, among many others that have nothing to do with it: ${OFFICE}`,
  );
  const found = await palace.search("harbour tides", { limit: 2 });
  expect(found.results.map((hit) => hit.drawer_id)).toContain(other);
  expect(found).not.toHaveProperty("distinct_results_truncated");
  expect((found.results[0]?.["near_duplicates"] as string[]).length).toBeLessThan(50);

  for (let at = 150; at < 1_700; at++) file(copy(at));
  expect(await palace.search("harbour tides", { limit: 2 })).toMatchObject({ distinct_results_truncated: true });
});

test("a passage from several sources is one hit that names the other sources", async () => {
  const wing = { wing: "moved" };
  const passage = `The harbour light is repaired by ${"the same two fitters each spring, who come by boat, ".repeat(3)}`;
  const filed = ["/notes/a.md", "/backup/a.md", "/old/b.md"].map((source_file, at) =>
    palace.file(passage, { ...wing, room: `r${at}`, source_file }),
  );
  palace.file(passage, { ...wing, room: "nowhere" });
  palace.file("The harbour light is red.", { ...wing, room: "short", source_file: "/notes/short.md" });
  palace.file("The harbour light is red.", { ...wing, room: "short2", source_file: "/backup/short.md" });
  const { results } = await palace.search("fitters of the harbour light", wing);
  expect(results).toHaveLength(2);
  const [long, short] = results as unknown as [Record<string, unknown>, Record<string, unknown>];
  const copies = filed.map((drawer_id, at) => {
    const source_path = ["/notes/a.md", "/backup/a.md", "/old/b.md"][at] as string;
    return {
      drawer_id,
      source_path,
      source_file: source_path.slice(-4),
      wing: "moved",
      room: `r${at}`,
      chunk_index: 0,
    };
  });
  const others = copies.filter(({ drawer_id }) => drawer_id !== long["drawer_id"]);
  expect(others).toHaveLength(2);
  expect(long["also_in"]).toEqual(expect.arrayContaining(others));
  expect(long["also_in"]).toHaveLength(2);
  // A short passage may be equal by chance, so its hit names no other source.
  expect(short).not.toHaveProperty("also_in");
});

test("with cli_compatible the answer is the text that MemPalace's command line prints", async () => {
  const wing = { wing: "shown" };
  palace.file("  The mill grinds on Tuesdays.\nOn Fridays it rests.\n", { ...wing, source_file: "/notes/mill.md" });
  const cli = { ...wing, cli_compatible: true };
  const answer = await palace.search("mill", cli);
  const bm25 = (await palace.search("mill", wing)).results[0]?.["bm25_score"] as number;
  expect(answer).toEqual({
    query: "mill",
    cli_output: [
      ...["", "=".repeat(60), '  Results for: "mill"', "  Wing: shown", "=".repeat(60), ""],
      ...["  [1] shown / r", "      Source: mill.md", `      Match:  bm25=${bm25}  (vector disabled)`, ""],
      ...["      The mill grinds on Tuesdays.", "      On Fridays it rests.", "", `  ${"-".repeat(56)}`, "", ""],
    ].join("\n"),
  });
  const none = await palace.search("mill", { cli_compatible: true, wing: "nobody" });
  expect(none).toEqual({
    ...{ query: "mill", cli_output: '\n  No results found for: "mill"\n' },
    hint: "no wing `nobody`, and no wing like it",
  });

  const refusals: [more: Record<string, unknown>, error: string][] = [
    [{ source_file: "/a" }, "cli-compatible search does not support source_file"],
    [
      { candidate_strategy: "union", max_distance: 1, context: "c" },
      "cli-compatible search does not support candidate_strategy, max_distance, context",
    ],
    [{ include_media: true }, "cli_compatible cannot be combined with media/code task search"],
  ];
  for (const [more, error] of refusals) expect(await palace.search("mill", { ...cli, ...more })).toEqual({ error });
  expect(await palace.search("  mill", cli)).toEqual({ error: "cli-compatible search requires an unchanged query" });
});
