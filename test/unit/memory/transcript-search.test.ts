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

test("a search shows one slice of an exchange, and the hit names the exchange's other slices", async () => {
  await using palace = await createSearchPalace();
  fileTalk(palace, "a.jsonl", [...BOAT, "> And the sails?\nNo paint for sails, they are washed beside the boat."]);
  const { results } = await palace.search("paint of the boat", { neighbors: 2 });
  expect(results.map(({ text }) => (text.includes("sails") ? "sails" : "boat"))).toEqual(["boat", "sails"]);
  const [boat, sails] = results as unknown as { same_exchange?: string[]; neighbors: Record<string, object[]> }[];
  expect(boat?.same_exchange).toHaveLength(2);
  expect((boat?.neighbors["before"]?.length ?? 0) + (boat?.neighbors["after"]?.length ?? 0)).toBeGreaterThan(1);
  expect(sails).not.toHaveProperty("same_exchange");
});

test("if one long answer fills the first candidates, the exchanges after it are still found", async () => {
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

test("the user's own words weigh more than the assistant's, and `explain` says so", async () => {
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

const HOURS = ["2025-01-02T10:00:00Z", "2025-02-02T10:00:00Z", "2025-03-02T10:00:00Z", "2025-04-02T10:00:00Z"];
const FILLING = "Write it down, look at it once a week, and change one thing after the other.";

test("a question about the order of events gets a part of each conversation first, and the answer names the field with the times", async () => {
  await using palace = await createSearchPalace();
  HOURS.forEach((hour, at) => {
    const parts = ["mast", "hull", "keel", "helm"].slice(0, at === 0 ? 4 : 1);
    const texts = parts.map(
      (part) => `> I looked at the sails and the ${part} of the boat today, talk ${at}.\n${FILLING}`,
    );
    fileTalk(palace, `s${at}.jsonl`, texts, Array<string>(texts.length).fill(hour));
  });
  const question =
    "Can you list the order in which I brought up different aspects of sails throughout our conversations?";
  const answer = await palace.search(question, { limit: 4, explain: true });
  expect(new Set(answer.results.map((hit) => hit["authored_at"])).size).toBe(4);
  expect(answer["spread"]).toContain("authored_at");
  expect(answer.results[0]?.explain).toHaveProperty("user_words_cosine");
  expect(await palace.search("sails")).not.toHaveProperty("spread");
});

test("a message with a lasting wish of the user ranks higher only if the question asks for advice", async () => {
  await using palace = await createSearchPalace();
  const wish = `> Always draw a plan with colours when I ask about wires.\n${FILLING}`;
  const parts = ["bolts", "screws", "nuts", "rubber", "belts", "hoses", "filters", "pumps"];
  const talk = parts.map(
    (part) => `> How is the engine mounted with ${part}, and its wire?\nThe engine is mounted with ${part}.`,
  );
  fileTalk(palace, "e.jsonl", [...talk, wish]);
  const placeOf = async (query: string): Promise<number> => (await palace.texts(query, { limit: 5 })).indexOf(wish);
  expect(await placeOf("Could you show me how the engine is mounted and the wire?")).toBe(3);
  expect(await placeOf("engine mounted, wire")).toBe(-1);
});

test("a long prompt that asks for advice is still searched for sentence by sentence if the user has lasting wishes", async () => {
  await using palace = await createSearchPalace();
  const wanted = "> With cache: false one loader asks the database on every call.";
  const situation = "The gateway Heron runs behind Caddy in Frankfurt since last year, and costs nothing.";
  const services = Array.from({ length: 150 }, (_, at) => `> Service ${at} is here, and note ${at} is about it.`);
  fileTalk(palace, "f.jsonl", [wanted, `> ${situation}`, ...services, "> Always draw a plan with colours.\nFine."]);
  const prompt = `Our gateway Heron runs in Frankfurt behind Caddy. ${"I have read all that is there. ".repeat(5)}
How can I make one loader ask the database on every call?`;
  expect((await palace.texts(prompt))[0]).toBe(wanted);
});

test("if a question asks for the newest or the first of equal notes, that note comes first", async () => {
  await using palace = await createSearchPalace();
  const dates = ["2025-03-01", "2025-01-01", "2025-04-01", "2025-02-01"];
  fileTalk(
    palace,
    "d.jsonl",
    dates.map((date) => `> Deployed the shop, build ${date.slice(5, 7)}.\nFine.`),
    dates.map((date) => `${date}T10:00:00Z`),
  );
  const first = async (query: string): Promise<unknown> => (await palace.search(query)).results[0]?.["authored_at"];
  expect(await first("what was the latest deployment of the shop?")).toMatch(/^2025-04/);
  expect(await first("what was the first deployment of the shop?")).toMatch(/^2025-01/);
});

test("a replaced statement names the newer statement and ranks after it, but not if the question is about the past", async () => {
  await using palace = await createSearchPalace();
  const old = "> We deploy the shop on Fridays.\nGood.";
  const texts = [
    old,
    "> Something about lunch.\nYes.",
    "> We deploy the shop on Tuesdays now. Lunch was fine, the soup as well.\nGood.",
  ];
  fileTalk(palace, "f.jsonl", texts, HOURS.slice(0, 3));
  const { results } = await palace.search("on which day do we deploy the shop", { explain: true });
  expect(results.map(({ text }) => text.slice(0, 24))).toEqual(
    [texts[2]?.slice(0, 24), old.slice(0, 24), "> Something about lunch."].slice(0, results.length),
  );
  expect(results[1]?.["superseded_by"]).toBe(results[0]?.drawer_id);
  expect(results[0]).not.toHaveProperty("superseded_by");
  const past = await palace.search("on which day did we originally deploy the shop");
  for (const hit of past.results) expect(hit).not.toHaveProperty("superseded_by");
});
