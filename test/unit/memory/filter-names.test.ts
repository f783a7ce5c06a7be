/** Tests filters by wing, room and source with exact names and with other spellings. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSearchPalace, type SearchPalace } from "../../helpers/search-palace.ts";
import { findRoom, findWing } from "../../../src/memory/search/filter-names.ts";

let palace: SearchPalace;
beforeAll(async () => {
  palace = await createSearchPalace();
  const files = [
    "/one/docs/README.md",
    "/two/docs/README.md",
    "/two/My-Notes/Boats.md",
    "/ü/Tagebücher.md",
    "plain.txt",
  ];
  for (const source_file of files)
    palace.file(`The ferry crosses the fjord, says ${source_file}.`, {
      wing: source_file.startsWith("/one") ? "one_project" : "w",
      source_file,
    });
});
afterAll(() => palace[Symbol.asyncDispose]());

test.each([
  ["my_project", ["my_project", "My Project"], "my_project"],
  ["my-project", ["my_project", "other"], "my_project"],
  ["My Project", ["my_project", "other"], "my_project"],
  ["MY_PROJECT", ["my_project", "my-project"], "my_project"],
  ["É", ["é"], "é"],
  ["alice", ["wing_alice", "bob"], "wing_alice"],
  ["wing_bob", ["wing_alice", "Bob"], "Bob"],
])("the wing %j is found among %j as %j", (asked, wings, name) => {
  expect(findWing(asked, wings)).toMatchObject({ name });
  expect(findWing(asked, wings).hint).toBe(
    asked === name ? undefined : `searched in wing \`${name}\`: there is no wing \`${asked}\``,
  );
});

test("the hint for an ambiguous or unknown name lists the nearest names", () => {
  expect(findWing("my-project", ["my_project", "My Project"])).toEqual({
    hint: "wing `my-project` could be `my_project`, `My Project`",
    near: ["my_project", "My Project"],
  });
  expect(findWing("foo", ["bar", "foo-api", "foo_web", "fo"]).hint).toBe(
    "no wing `foo`; wings like it: `foo-api`, `foo_web`, `fo`",
  );
  expect(findWing("foo", ["bar"]).hint).toBe("no wing `foo`, and no wing like it");
  const many = Array.from({ length: 9 }, (_, at) => `room ${at}`);
  expect(findRoom("room", many, "w").hint).toMatch(/^no room `room` in wing `w`; .*`room 4` and 4 more$/);
  // Only a wing may have the prefix `wing_`, so `alice` is not another spelling of the room `wing_alice`.
  expect(findRoom("alice", ["wing_alice"])).not.toHaveProperty("name");
});

test("a search with another spelling of a wing or room says where it searched", async () => {
  const found = await palace.search("ferry", { wing: "One Project", room: "R" });
  expect(found).toMatchObject({ filters: { wing: "one_project", room: "r" }, results: [{ wing: "one_project" }] });
  expect(found["hint"]).toBe(
    "searched in wing `one_project`: there is no wing `One Project`; searched in room `r`: there is no room `R` in wing `one_project`",
  );
  const exact = await palace.search("ferry", { wing: "one_project", room: "r" });
  expect(exact).toMatchObject({ results: found.results });
  expect(exact).not.toHaveProperty("hint");
});

test("a search in an unknown wing or room gets a hint with similar names, if any exist", async () => {
  const found = await palace.search("ferry", { wing: "one_projekt", source_file: "README.md" });
  expect(found).toMatchObject({
    ...{ results: [], nothing_found: true, filters: { wing: "one_projekt", source_file: "README.md" } },
    hint: "no wing `one_projekt`; wings like it: `one_project`",
  });
  expect(found).not.toHaveProperty("notice");
  expect(await palace.search("ferry", { wing: "w", room: "x" })).toMatchObject({
    hint: "no room `x` in wing `w`, and no room like it",
  });
});

test.each([
  ["Boats.md", "/two/My-Notes/Boats.md"],
  ["my_notes/boats.md", "/two/My-Notes/Boats.md"],
  ["./My-Notes/Boats.md", "/two/My-Notes/Boats.md"],
  ["two/docs/README.md", "/two/docs/README.md"],
  ["tagebücher.md", "/ü/Tagebücher.md"],
  ["TAGEBÜCHER.md", "/ü/Tagebücher.md"],
  ["PLAIN.txt", "plain.txt"],
])("the source %j is found as %j", async (asked, source) => {
  const found = await palace.search("ferry", { source_file: asked });
  expect(found.results.map((hit) => hit["source_path"])).toEqual([source]);
  expect(found).toMatchObject({
    filters: { source_file: source },
    hint: `searched in source_file \`${source}\`: there is no source_file \`${asked}\``,
  });
});

test("a source filter finds a full path or an unambiguous file name; otherwise the answer has only a hint", async () => {
  const exact = await palace.search("ferry", { source_file: "/two/docs/README.md" });
  expect(exact.results).toHaveLength(1);
  expect(exact).not.toHaveProperty("hint");
  expect(await palace.search("ferry", { source_file: "README.md", wing: "one_project" })).toMatchObject({
    results: [{ source_path: "/one/docs/README.md" }],
  });
  const both = await palace.search("ferry", { source_file: "readme.md" });
  expect(both.results).toEqual([]);
  expect(both["hint"]).toMatch(/^source_file `readme.md` could be `\/(one|two)\/docs\/README.md`, `\/(one|two)\/docs/);
  // A misspelled file name finds no drawer. A part of a file name finds none, either.
  const typo = await palace.search("ferry", { source_file: "Boast.md" });
  expect(typo.results).toEqual([]);
  expect(typo["hint"]).toBe("no source_file `Boast.md`; source_files like it: `/two/My-Notes/Boats.md`");
  expect(await palace.search("ferry", { source_file: "oats.md" })).toMatchObject({
    ...{ results: [], hint: "no source_file `oats.md`; source_files like it: `/two/My-Notes/Boats.md`" },
  });
  expect(await palace.search("ferry", { source_file: "%_%" })).toMatchObject({ results: [] });
});
