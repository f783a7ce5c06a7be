/** A client learns from an answer how a palace makes ids, and then predicts the ids of spooled drawers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { learnIdRecipe, promisedId } from "../../../../src/wire/client/learned-id-recipe.ts";
import { OFFLINE_RULES } from "../../../../src/broker/tools/offline.ts";
import { loadConfig } from "../../../../src/config/config.ts";
import type { Paths } from "../../../../src/config/paths.ts";
import { newDrawerId } from "../../../../src/memory/drawer/drawer-id.ts";

const drawer = { wing: "w", room: "r", content: "one text" };
const anotherDrawer = { ...drawer, content: "another text" };

const folder = mkdtempSync(join(tmpdir(), "id-recipe-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function newPaths(): Paths {
  const home = mkdtempSync(join(folder, "home-"));
  return loadConfig({ HOME: home, XDG_STATE_HOME: home }).paths;
}
const request = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
  params: { name: "mempalace_add_drawer", arguments: drawer },
});
const answer = (value: object): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: JSON.stringify(value) }] } });

test.each(["v3", "bare"] as const)(
  "the client learns the id recipe %s from an id and predicts the next id",
  (recipe) => {
    const paths = newPaths();
    expect(promisedId(OFFLINE_RULES, paths, anotherDrawer)).toBeUndefined();
    learnIdRecipe(OFFLINE_RULES, paths, request, answer({ success: true, drawer_id: newDrawerId(recipe, drawer) }));
    expect(promisedId(OFFLINE_RULES, paths, anotherDrawer)).toBe(newDrawerId(recipe, anotherDrawer));
  },
);

test.each([
  {
    why: "a text that was already filed",
    value: { success: true, reason: "already_exists", drawer_id: newDrawerId("bare", drawer) },
  },
  { why: "a refusal", value: { success: false, error: "no" } },
  { why: "an id of an unknown recipe", value: { success: true, drawer_id: "drawer_w_r_0123" } },
])("the client learns no id recipe from $why", ({ value }) => {
  const paths = newPaths();
  learnIdRecipe(OFFLINE_RULES, paths, request, answer(value));
  learnIdRecipe(OFFLINE_RULES, paths, "no message", "no answer");
  expect(promisedId(OFFLINE_RULES, paths, anotherDrawer)).toBeUndefined();
});

test("when the palace changes its id recipe, the client learns the new id recipe", () => {
  const paths = newPaths();
  for (const recipe of ["bare", "v3"] as const) {
    learnIdRecipe(OFFLINE_RULES, paths, request, answer({ success: true, drawer_id: newDrawerId(recipe, drawer) }));
    expect(promisedId(OFFLINE_RULES, paths, anotherDrawer)).toBe(newDrawerId(recipe, anotherDrawer));
  }
});
