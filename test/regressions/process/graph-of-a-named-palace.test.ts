/** Only `--palace` moves MemPalace's graph. We also moved it for MEMPALACE_PALACE_PATH, so neither side saw the other's facts. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { handedOn, resolvePaths } from "../../../src/config/paths.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceEnv, MEMPALACE_VERSIONS, mempalaceMissing, openMempalace } from "../../helpers/python-mempalace.ts";

const LIMIT = { timeout: 120_000 };
const GRAPH = "knowledge_graph.sqlite3";

test("only --palace and MEMPALACE_PATH move the graph into the palace's folder, and child processes get the same paths", async () => {
  await using palace = createTestPalace();
  const named = join(palace.home, "named");
  const graphOf = (env: Record<string, string>, argument?: string): string =>
    resolvePaths({ ...palace.env, ...env }, argument).graphFile;
  const usual = join(palace.home, ".mempalace", GRAPH);
  for (const variable of ["MEMPALACE_PALACE_PATH", "MEMPALACE_PALACE", "MEMPAL_PALACE_PATH"]) {
    const env = { ...palace.env, [variable]: named };
    const paths = resolvePaths(env);
    expect([variable, paths.home, paths.graphFile]).toEqual([variable, named, usual]);
    const handed = handedOn(paths, env);
    expect({ ...resolvePaths(handed.env, handed.palace[1]) }).toEqual({ ...paths });
  }
  expect(graphOf({}, named)).toBe(join(named, GRAPH));
  expect(graphOf({ MEMPALACE_PALACE_PATH: join(palace.home, "other") }, named)).toBe(join(named, GRAPH));
  expect(graphOf({ MEMPALACE_PATH: join(palace.home, "ours"), MEMPALACE_PALACE_PATH: named })).toBe(join(named, GRAPH));
});

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  describe.skipIf(missing !== undefined)(`MemPalace ${version} and our memory`, () => {
    it.for(["argument", "variable", "config.json"] as const)(
      "MemPalace and our memory share facts in a palace named by %s",
      LIMIT,
      async (way) => {
        await using palace = createTestPalace();
        mempalaceEnv(palace.home);
        const folder = join(palace.home, "data/pal");
        mkdirSync(folder, { recursive: true });
        if (way === "config.json") {
          mkdirSync(join(palace.home, ".mempalace"));
          writeFileSync(join(palace.home, ".mempalace/config.json"), JSON.stringify({ palace_path: folder }));
        }
        const env: Record<string, string> = way === "variable" ? { MEMPALACE_PALACE_PATH: folder } : {};
        const args = way === "argument" ? ["--palace", folder] : [];
        const open = (): ReturnType<typeof openMempalace> =>
          openMempalace(version, { home: palace.home, env, ...(way === "argument" && { palace: folder }) });
        const ask = async (tool: string, values: object): Promise<string> => {
          const { code, stdout, stderr } = await palace.run("palace", ["call", tool, JSON.stringify(values), ...args], {
            env,
          });
          expect([code, stderr]).toEqual([0, ""]);
          return stdout;
        };
        {
          await using theirs = await open();
          await theirs.call("add_drawer", { wing: "proj", room: "notes", content: "hello world" });
          await theirs.call("kg_add", { subject: "Alice", predicate: "works at", object: "Acme" });
        }
        try {
          expect(await ask("kg_query", { entity: "Alice" })).toContain("Acme");
          await ask("kg_add", { subject: "Bob", predicate: "likes", object: "tea" });
        } finally {
          await palace.run("palace", ["stop", ...args], { env });
        }
        await using theirs = await open();
        expect(await theirs.call("kg_query", { entity: "Bob" })).toMatchObject({ count: 1 });
        expect(await theirs.call("kg_query", { entity: "Alice" })).toMatchObject({ count: 1 });
      },
    );
  });
}
