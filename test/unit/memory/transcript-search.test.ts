/** Tests of search answers from transcripts, on a real ledger without a model. */
import { expect, test } from "vitest";
import { createSearchPalace, type SearchPalace } from "../../helpers/search-palace.ts";

/** Files each text as one drawer, as the transcript miner does. `times`: when each text was said. */
function fileTalk(palace: SearchPalace, name: string, texts: readonly string[], times?: readonly string[]): void {
  const source = { wing: "talk", room: "r", sourceFile: `/talks/${name}`, mtime: 1, sha256: name };
  const timed = times === undefined ? {} : { authoredAts: times };
  palace.write("conversation.replace", { ...source, ...timed, from: 0, total: texts.length, texts });
}

const BOAT = [
  "> Which paint fits the boat?\nThe boat needs paint for salt water, and the paint must breathe.",
  "Sand the boat first: paint sticks to a rough boat only. Dry the wood, then paint.",
  "A second coat of paint makes the boat last; the paint of the first coat must be dry.",
];

test("a search shows one slice of an exchange, and the hit names the others", async () => {
  await using palace = await createSearchPalace();
  fileTalk(palace, "a.jsonl", [...BOAT, "> And the sails?\nNo paint for sails, they are washed beside the boat."]);
  const { results } = await palace.search("paint of the boat", { neighbors: 2 });
  expect(results.map(({ text }) => (text.includes("sails") ? "sails" : "boat"))).toEqual(["boat", "sails"]);
  const [boat, sails] = results as unknown as { same_exchange?: string[]; neighbors: Record<string, object[]> }[];
  expect(boat?.same_exchange).toHaveLength(2);
  expect((boat?.neighbors["before"]?.length ?? 0) + (boat?.neighbors["after"]?.length ?? 0)).toBeGreaterThan(1);
  expect(sails).not.toHaveProperty("same_exchange");
});

test("an answer that fills the first candidates leaves room for the exchanges after it", async () => {
  await using palace = await createSearchPalace();
  const long = Array.from({ length: 20 }, (_, at) => `Step ${at}: paint the boat, plank by plank, number${at}.`);
  fileTalk(palace, "long.jsonl", ["> How to paint the boat?", ...long, "> Thanks for the boat advice, it is dry now."]);
  const [answer, thanks] = await palace.texts("paint the boat, plank by plank", { limit: 2 });
  expect(answer).toMatch(/^Step/);
  expect(thanks).toMatch(/^> Thanks/);
});

test("notes that were mined as a transcript have no exchange, so each part is shown", async () => {
  await using palace = await createSearchPalace();
  fileTalk(
    palace,
    "notes.txt",
    BOAT.map((text) => text.replace("> ", "")),
  );
  const { results } = await palace.search("paint of the boat", { explain: true });
  expect(results).toHaveLength(3);
  for (const { explain } of results) expect(explain).not.toHaveProperty("assistant_factor");
});

test("the user's own words weigh more than the assistant's, and explain says so", async () => {
  await using palace = await createSearchPalace();
  const [asked, said] = ["> My budget grew.\nGood.", "> My budget for the harbour trip is 900 now."];
  const answer = "A budget for the harbour trip: your budget for the harbour trip holds a reserve.";
  fileTalk(palace, "b.jsonl", [asked, answer, said, "> Thanks!"]);
  const { results } = await palace.search("what is my budget for the harbour trip", { explain: true });
  expect(results[0]?.text).toBe(said);
  const explained = results.map(({ text, explain }) => [
    text,
    (explain as Record<string, unknown>)["assistant_factor"],
  ]);
  expect(explained).toEqual(
    expect.arrayContaining([
      [answer, 0.71],
      [said, undefined],
    ]),
  );
});
