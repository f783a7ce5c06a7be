/** Tests searches that know the client's project: they prefer its wings, search only these, or search all wings. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSearchPalace, type SearchPalace } from "../../helpers/search-palace.ts";
import { wingsNamed } from "../../../src/memory/search/filter-names.ts";

type Scoped = { wing: string; score: number; explain: { promoted: { factor: number; reason: string }[] } };

const NOTE = "The deploy script needs the release token of the harbour server";
const project = ["my_shop"];
let palace: SearchPalace;

beforeAll(async () => {
  palace = await createSearchPalace();
  palace.file(`${NOTE}, said Ann.`, { wing: "other" });
  palace.file(`${NOTE}, said Bob in March.`, { wing: "My Shop" });
  palace.file("Bob paints the harbour wall with a broad brush.", { wing: "my_shop" });
  palace.file("The release of the spring catalogue was late.", { wing: "wing_my_shop" });
  palace.file("Kingfishers nest in the quarry behind the mill.", { wing: "other" });
});
afterAll(() => palace[Symbol.asyncDispose]());

const wingsOf = async (query: string, more: object): Promise<unknown[]> =>
  (await palace.search(query, { ...more })).results.map((hit) => hit["wing"]);

test.each([
  ["my_shop", ["my-shop", "My Shop", "my_shop", "wing_my_shop", "MY.SHOP"]],
  ["Old Yard", ["old_yard"]],
  ["none", []],
])("the project %s has the wings %j", (name, own) => {
  const wings = [
    "my-shop",
    "My Shop",
    "my_shop",
    "wing_my_shop",
    "MY.SHOP",
    "my_shop_2",
    "shop",
    "old_yard",
    "é",
    "__",
  ];
  expect(wingsNamed([name], wings)).toEqual(own);
  expect(wingsNamed(["__", ""], wings)).toEqual([]);
});

test("the project's own note comes before an equally good note of another wing, and the answer says why", async () => {
  const query = "what does the deploy script need";
  expect((await wingsOf(query, {})).slice(0, 2)).toEqual(["other", "My Shop"]);
  const { scope, results } = await palace.search(query, { project, explain: true });
  expect(scope).toEqual({ project: "my_shop", wings: ["My Shop", "my_shop", "wing_my_shop"], preferred: true });
  const [own, other] = results as unknown as Scoped[];
  expect([own?.wing, other?.wing]).toEqual(["My Shop", "other"]);
  expect(own?.explain.promoted).toEqual([
    { factor: 1.1, reason: "belongs to the project you work in: wing `My Shop`" },
  ]);
  expect(other?.explain.promoted).toEqual([]);
  expect(await wingsOf(query, { project: ["gone", "my_shop"] })).toEqual(await wingsOf(query, { project }));
});

test("a clearly better note from another project stays first", async () => {
  expect((await wingsOf("where do kingfishers nest", { project }))[0]).toBe("other");
});

test("a strict search is limited to the project's wings, in any spelling", async () => {
  const { scope, results, hint } = await palace.search("harbour release", { project, scope: "strict" });
  expect(scope).toEqual({ project: "my_shop", wings: ["My Shop", "my_shop", "wing_my_shop"], strict: true });
  expect(new Set(results.map((hit) => hit["wing"]))).toEqual(new Set(["My Shop", "my_shop", "wing_my_shop"]));
  expect(hint).toBeUndefined();
  const since = { since: "2000-01-01", room: "r" };
  expect((await wingsOf("harbour release", { project, scope: "strict", ...since })).length).toBe(3);
});

test("an empty answer of a strict search says how to search everywhere", async () => {
  const missed = await palace.search("harbour", { project: ["nowhere"], scope: "strict" });
  expect(missed).toMatchObject({ results: [], nothing_found: true, scope: { project: "nowhere", wings: [] } });
  expect(missed["hint"]).toBe("no wing belongs to project `nowhere`; scope=all searches everywhere");
  expect(missed).not.toHaveProperty("notice");
  const away = await palace.search("harbour", { project, scope: "strict", room: "r", before: "2000-01-01" });
  expect(away["hint"]).toBe("nothing found in project `my_shop`; scope=all searches everywhere");
});

test("the project changes no answer if the scope is all, a wing is given, or the project has no wing", async () => {
  const query = "harbour release token";
  const plain = await palace.search(query);
  expect(plain).not.toHaveProperty("scope");
  expect(await palace.search(query, { project, scope: "all" })).toEqual(plain);
  expect(await palace.search(query, { project: ["nowhere"] })).toEqual(plain);
  expect(await palace.search(query, { project: [] })).toEqual(plain);
  expect(await palace.search(query, { scope: "prefer" })).toEqual(plain);
  const inWing = await palace.search(query, { wing: "other" });
  for (const scope of ["prefer", "strict", undefined])
    expect(await palace.search(query, { project, scope, wing: "other" })).toEqual(inWing);
  const text = { cli_compatible: true };
  expect(await palace.search(query, { ...text, project })).toEqual(await palace.search(query, text));
});

test("an unknown scope is refused", async () => {
  expect(await palace.search("harbour", { scope: "mine" })).toEqual({
    error: "scope must be one of ('prefer', 'strict', 'all')",
  });
  expect(await palace.search("harbour", { scope: "strict" })).toEqual({
    error: "scope 'strict' needs a project, and this client works in none",
    hint: "pass wing, or leave scope out",
  });
});
