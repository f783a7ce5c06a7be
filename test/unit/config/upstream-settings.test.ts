/**
 * Tests that a palace is found after its user moved the palace or renamed its collection in MemPalace's config.json. A path of another
 * machine is ignored.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadConfig } from "../../../src/config/config.ts";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "settings-")));
  mkdirSync(join(home, ".mempalace"));
});
afterEach(() => rmSync(home, { recursive: true }));

const settings = (content: unknown, folder = ".mempalace"): void =>
  writeFileSync(join(home, folder, "config.json"), typeof content === "string" ? content : JSON.stringify(content));
const palaceDir = (env: Record<string, string> = {}): string => loadConfig({ HOME: home, ...env }).paths.palaceDir;
const usual = (): string => join(home, ".mempalace/palace");

describe("palace_path in MemPalace's config.json", () => {
  test("palace_path moves the palace's folder and keeps the ledger in ~/.mempalace", () => {
    for (const path of [join(home, "disk/palace"), "~/disk/palace"]) {
      mkdirSync(join(home, "disk"), { recursive: true });
      settings({ palace_path: path });
      const { paths } = loadConfig({ HOME: home });
      expect(paths).toMatchObject({ palaceDir: join(home, "disk/palace"), home: join(home, ".mempalace") });
      expect(paths.ledgerFile).toBe(join(home, ".mempalace/ledger.sqlite3"));
      // palace.md 3.1: the tunnels are beside the palace, the graph is in ~/.mempalace.
      expect(paths.tunnelsFile).toBe(join(home, "disk/tunnels.json"));
      expect(paths.graphFile).toBe(join(home, ".mempalace/knowledge_graph.sqlite3"));
    }
  });

  test.each([
    ["a path of another machine", { palace_path: "/nowhere/of/ours/palace" }],
    ["a relative path", { palace_path: "palace" }],
    ["a number", { palace_path: 7 }],
    ["a path in a file of invalid JSON", "{"],
    ["a missing path", {}],
  ])("palace_path is ignored: %s", (_, content) => {
    settings(content);
    expect(palaceDir()).toBe(usual());
  });

  test("a folder from an argument or a variable wins over palace_path", () => {
    settings({ palace_path: join(home, "moved") });
    expect(palaceDir()).toBe(join(home, "moved"));
    for (const name of ["MEMPALACE_PALACE_PATH", "MEMPALACE_PALACE", "MEMPAL_PALACE_PATH"])
      expect(palaceDir({ [name]: join(home, "named") })).toBe(join(home, "named"));
    expect(loadConfig({ HOME: home }, { palace: join(home, "given") }).paths.palaceDir).toBe(join(home, "given"));
    expect(palaceDir({ MEMPALACE_PATH: join(home, ".mempalace") })).toBe(usual());
  });
});

test.each([
  ["team_notes", "team_notes"],
  [undefined, "mempalace_drawers"],
  ["x", "mempalace_drawers"],
  ["mempalace_closets", "mempalace_drawers"],
  [5, "mempalace_drawers"],
])("collection_name %j means the collection %s", (name, collection) => {
  settings({ collection_name: name });
  expect(loadConfig({ HOME: home }).collection()).toBe(collection);
});
