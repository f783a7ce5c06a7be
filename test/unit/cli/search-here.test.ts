/** Tests the sentence that says how search works in this palace. It is made from the broker's status. */
import { expect, test } from "vitest";
import { askSearch, describeSearch } from "../../../src/cli/proof/search-here.ts";

test("describeSearch has a sentence for people for each state of the model", () => {
  const told = (modelState: Parameters<typeof describeSearch>[0]["modelState"], modelDetail: string): string =>
    describeSearch({ modelState, modelDetail });
  expect(told("ready", "/models/x")).toBe("Search finds memories by words and by meaning.");
  expect(told("loading", "/models/x")).toContain("it finds more when the model is loaded.");
  expect(told("downloading", "12 % of 91 MB")).toContain("when the model is downloaded (12 % of 91 MB).");
  expect(told("missing", "the model could not be downloaded (fetch failed); searching without it")).toBe(
    "Search finds memories by words and meaning, without the model: the model could not be downloaded. `palace doctor` says what to do.",
  );
});

test("askSearch returns undefined if the broker's status is missing or the engine is of kind command", async () => {
  const say = (value: unknown): string[] => [process.execPath, "-p", JSON.stringify(JSON.stringify(value))];
  const search = { modelState: "ready", modelDetail: "x" };
  expect(await askSearch(say({ search, engine: { kind: "builtin" } }), process.env)).toEqual(search);
  expect(await askSearch(say({ search, engine: { kind: "command" } }), process.env)).toBeUndefined();
  expect(await askSearch(say({ running: false }), process.env)).toBeUndefined();
  expect(await askSearch([process.execPath, "-e", "process.exit(3)"], process.env)).toBeUndefined();
});
