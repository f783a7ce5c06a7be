/** Imports data folders of the real Roampal, exports them unchanged, and lets Roampal search and score in the export. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { askRoampal, ROAMPAL_VERSIONS, roampalMissing, type RoampalVersion } from "../../helpers/python-roampal.ts";

vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 1_800_000 });

const SCRIPT = join(import.meta.dirname, "folder.py");
const TEXT = "The handbook says that tea wants four minutes. ".repeat(60);

type Step = (string | number | boolean | null | string[] | object)[];
type Held = {
  collection: string;
  text: string;
  metadata: Record<string, unknown>;
  /** Python's type of each field, by name. */
  types: Record<string, string>;
  isZero: boolean;
};
type Folder = {
  made: unknown[];
  held: Record<string, Held>;
  faults: string[];
  ghosts: string[];
  graphs: Record<string, object>[] | null;
};

const score = (id: string, outcome: string, times: number, reason: string | null = null): Step[] =>
  Array.from({ length: times }, () => ["score", id, outcome, reason]);

/** Steps that make records of each kind that Roampal stores. */
const LIFE: Step[] = [
  ["store", "the flaky deploy wants a longer timeout", "working", { query: "why does the deploy fail", project: "a" }],
  ["store", "rebase before merging", "history", {}],
  ["store", "pin the compiler to one version", "patterns", {}],
  ["store", "restart the printer each morning", "working", {}],
  ["store", 'Grüße, 日本語, and a "quote" 🙂', "working", { depth: 3, ratio: 0.5, whole: true }],
  ["fact", "The user drinks tea", ["identity", "preference"], 0.9, 0.8, true],
  ["fact", "The user drank coffee", ["preference"], 0.95, 0.65, false],
  ["archive", "The user drank coffee"],
  ["book", TEXT, "Handbook", "handbook.md"],
  ["book", TEXT.replaceAll("tea", "coffee"), "Old handbook", "old.md"],
  ["remove", "Old handbook"],
  ...score("$0", "worked", 2),
  ...score("$1", "worked", 1),
  ...score("$2", "worked", 3),
  ...score("$3", "failed", 1, "it was the paper"),
  ...score("$4", "partial", 1),
  ...score("$5", "worked", 2),
];

const roampal = async (version: RoampalVersion, dir: string, steps: Step[]): Promise<Folder> =>
  (await askRoampal(version, SCRIPT, { dir, steps })) as Folder;

async function palaceSays(palace: TestPalace, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await palace.run("palace", [...args, "--json"]);
  if (code !== 0) expect.fail(stderr);
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function expectHere(palace: TestPalace, held: Folder["held"]): Promise<void> {
  for (const [id, { collection, text, metadata }] of Object.entries(held)) {
    const told = await palaceSays(palace, "outcome", "why", id);
    const past = JSON.parse(String(metadata["outcome_history"] ?? "[]")) as { outcome: string; reason: unknown }[];
    expect(told).toMatchObject({
      ...{ id, wing: "roampal", text, room: metadata["status"] === "archived" ? "archive" : collection },
      ...{ score: metadata["score"] ?? 0.5, uses: metadata["uses"] ?? 0, successes: metadata["success_count"] ?? 0 },
      outcomes: past.map(({ outcome, reason }) => ({ outcome, reason })),
    });
  }
}

const withoutVectors = (held: Folder["held"]): unknown =>
  Object.fromEntries(Object.entries(held).map(([id, { isZero: _, ...memory }]) => [id, memory]));

for (const version of ROAMPAL_VERSIONS) {
  const missing = await roampalMissing(version);
  test.skipIf(missing !== undefined)(
    `an import and an export keep a folder of Roampal ${version} unchanged`,
    { timeout: 240_000 },
    async () => {
      await using palace = createTestPalace();
      const home = mkdtempSync(join(tmpdir(), "roampal-"));
      try {
        const dir = join(home, "data");
        const hasGraphs = version === "0.3.6.1";
        const life = await roampal(version, dir, hasGraphs ? [...LIFE, ["relate", "$1", "it has worked"]] : LIFE);
        expect(life.faults).toEqual([]);
        const held = Object.fromEntries(Object.entries(life.held).filter(([id]) => !life.ghosts.includes(id)));
        const count = Object.keys(held).length;
        expect(new Set(Object.values(held).map(({ collection }) => collection)).size).toBe(5);

        const first = await palaceSays(palace, "outcome", "import", dir);
        expect(first).toMatchObject({
          ...{ memories: count, added: count, updated: 0, kept: [], gone: [], refused: [], overdue: 0 },
          ...{ ghosts: life.ghosts.length, repeated: 0, unreadable: 0 },
          graphs: { updated: 0, unchanged: 0, refused: [], unread: [] },
        });
        const { entries } = first["graphs"] as { entries: number };
        expect(entries > 500).toBe(hasGraphs);
        await expectHere(palace, held);
        expect(await palaceSays(palace, "outcome", "import", dir)).toMatchObject({
          ...{ added: 0, unchanged: count, graphs: { added: 0, updated: 0, unchanged: entries } },
        });

        const back = join(home, "back");
        expect(await palaceSays(palace, "outcome", "export", back)).toMatchObject({
          ...{ memories: count, entries, others: 0 },
        });
        const opened = await roampal(version, back, []);
        expect(opened.faults).toEqual([]);
        expect(withoutVectors(opened.held)).toEqual(withoutVectors(held));
        expect(opened.graphs).toEqual(life.graphs);
        // 0.3.6.1 retains the folder's zero vectors. The newest version computes them again.
        expect(Object.values(opened.held).every(({ isZero }) => isZero)).toBe(version === "0.3.6.1");

        const moved = Object.keys(held).find((id) => id.startsWith("history_") && id !== life.made[1]) ?? "";
        const tea = Object.keys(held).find((id) => held[id]?.text === "The user drinks tea") ?? "";
        const used = await roampal(version, back, [
          ["search", "The user drinks tea"],
          ["get", tea],
          ["books"],
          ["score", moved, "worked", null],
          ["store", "a new one about the harbour", "working", {}],
          ["search", "a new one about the harbour"],
        ]);
        expect(used.faults).toEqual([]);
        const [found, text, books, isScored, made, foundNew] = used.made as [
          string[],
          string,
          unknown[],
          boolean,
          string,
          string[],
        ];
        expect(found).toContain(tea);
        expect([text, isScored]).toEqual(["The user drinks tea", true]);
        expect(books).toHaveLength(1);
        expect(foundNew).toContain(made);
        expect(used.held[moved]?.metadata["uses"]).toBe(3);
        expect(Object.keys(used.held)).toHaveLength(count + 1);

        // Imports again the memories that Roampal has scored meanwhile.
        expect(await palaceSays(palace, "outcome", "import", back)).toMatchObject({
          ...{ added: 1, updated: 1, kept: [], graphs: { refused: [] } },
        });
        expect(await palaceSays(palace, "outcome", "why", moved)).toMatchObject({ uses: 3 });
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    },
  );
}
