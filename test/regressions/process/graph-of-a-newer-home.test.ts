/** A new MemPalace has its palace in ~/.config/mempalace but its graph in ~/.mempalace, where we did not look for it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { resolvePaths } from "../../../src/config/paths.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceEnv, mempalaceMissing, openMempalace } from "../../helpers/python-mempalace.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);

test("MEMPALACE_CONFIG_DIR does not move the graph out of ~/.mempalace, but MEMPALACE_PATH does", async () => {
  await using palace = createTestPalace();
  const elsewhere = join(palace.home, "elsewhere");
  const graphOf = (env: Record<string, string>): string => resolvePaths({ ...palace.env, ...env }).graphFile;
  const usual = join(palace.home, ".mempalace/knowledge_graph.sqlite3");
  expect(graphOf({})).toBe(usual);
  expect(graphOf({ MEMPALACE_CONFIG_DIR: elsewhere })).toBe(usual);
  expect(graphOf({ MEMPALACE_PATH: elsewhere })).toBe(join(elsewhere, "knowledge_graph.sqlite3"));
});

describe.skipIf(missing !== undefined)(`a new install of MemPalace ${VERSION} and our memory`, () => {
  it("a new install of MemPalace and our memory have each other's facts", { timeout: 90_000 }, async () => {
    await using palace = createTestPalace();
    mempalaceEnv(palace.home);
    {
      await using theirs = await openMempalace(VERSION, { home: palace.home });
      await theirs.call("add_drawer", { wing: "proj", room: "notes", content: "hello world" });
      await theirs.call("kg_add", { subject: "Alice", predicate: "works at", object: "Acme" });
    }
    expect(existsSync(join(palace.home, ".config/mempalace/palace/chroma.sqlite3"))).toBe(true);
    await palace.run("palace", ["start"]);
    {
      await using shim = await palace.shim();
      expect(await shim.call("mempalace_kg_query", { entity: "Alice" })).toMatchObject({ count: 1 });
      await shim.call("mempalace_kg_add", { subject: "Bob", predicate: "likes", object: "tea" });
    }
    await palace.run("palace", ["stop"]);
    await using theirs = await openMempalace(VERSION, { home: palace.home });
    expect(await theirs.call("kg_query", { entity: "Bob" })).toMatchObject({ count: 1 });
    expect(await theirs.call("kg_query", { entity: "Alice" })).toMatchObject({ count: 1 });
  });
});
