import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { describe, expect, it, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { dumpChroma } from "../../helpers/python-chroma.ts";
import { mempalaceEnv, MEMPALACE_VERSIONS, mempalaceMissing, runMempalace } from "../../helpers/python-mempalace.ts";
import { inStep, status } from "../../helpers/python-rows.ts";

const NOTES: readonly (readonly [wing: string, room: string, text: string, source?: string])[] = [
  [
    "garden",
    "plants",
    "We decided to plant ferns because Alice and Bob love shade. Never forget: water the ferns!",
    "/n/a.b.md",
  ],
  ["garden", "plants", "short", "/n/.hidden"],
  [
    "garden",
    "tools",
    `${"A very long story of the spade and the Rake, ".repeat(60)}ä 日本 👩‍👩‍👧\nwith a second line`,
    "/n/long.md",
  ],
  [
    "Work",
    "api",
    "The API_server of Carol-Ann's GraphQL team was migrated.\n\n  CamelCase CamelCase   deploy?config! I am worried",
  ],
  [
    "Work",
    "api",
    "ÉCOLE Straße İstanbul: the Ünïcode SENTENCE is breakthrough; I realized everything has changed today",
    "/n/u.md",
  ],
  [
    "Work",
    "notes",
    "Numbers 12 34, punctuation … – “quoted words of a certain length, that go on and on for more than a hundred and fifty letters, so that they count less than others do”",
    "/n/q",
  ],
  ["Work", "notes", "nothing", ""],
];

async function fill(palace: TestPalace): Promise<string[]> {
  await using shim = await palace.shim();
  const ids: string[] = [];
  for (const [wing, room, content, source] of NOTES) {
    const made = await shim.call("mempalace_add_drawer", {
      wing,
      room,
      content,
      ...(source && { source_file: source }),
    });
    ids.push(String(made["drawer_id"]));
  }
  await shim.call("mempalace_diary_write", {
    agent_name: "Atlas",
    entry: "I hope that the Fern grows.",
    topic: "hope",
  });
  return ids;
}

async function closetsSent(palace: TestPalace): Promise<void> {
  for (;;) {
    await inStep(palace);
    const { closets } = await status(palace);
    if (closets.count > 0 && closets.pending + closets.lag === 0) return;
    await delay(50);
  }
}

describe.each(MEMPALACE_VERSIONS)("beside MemPalace %s", async (version) => {
  const missing = await mempalaceMissing(version);
  it.skipIf(missing !== undefined)(
    "compress prints the same text and stores the same rows as MemPalace",
    { timeout: 900_000 },
    async () => {
      await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
      const { home } = palace;
      mempalaceEnv(home);
      await palace.startBroker();
      await fill(palace);
      const names = join(home, "names.json");
      writeFileSync(names, JSON.stringify({ entities: { Alice: "ALC", fern: "FRN", BOB: "B", Straße: "STR" } }));
      const ask = [
        ["--dry-run"],
        ["--dry-run", "--wing", "garden", "--config", names],
        ["--wing", "nowhere"],
        ["--config", names],
      ];
      await inStep(palace);
      const ours: unknown[] = [];
      for (const args of ask) {
        const { code, stdout } = await palace.run("mempalace", ["compress", ...args]);
        ours.push([args, code, stdout]);
      }
      await closetsSent(palace);
      await palace.run("palace", ["stop"]);
      const { palaceDir } = palace.config.paths;
      const stored = await dumpChroma(version, home, palaceDir, "mempalace_closets");
      const theirs: unknown[] = [];
      for (const args of ask) {
        const { code, output } = await runMempalace(version, ["compress", ...args], { home });
        theirs.push([args, code, said(output)]);
      }
      expect(ours).toEqual(theirs);
      const again = await dumpChroma(version, home, palaceDir, "mempalace_closets");
      // 3.11 adds a time to every written row that lacks one.
      const rows = (from: typeof stored): unknown[] =>
        [...from].map(([id, { text, metadata }]) => [id, text, { ...metadata, last_modified: undefined }]);
      expect(stored.size).toBeGreaterThan(NOTES.length);
      expect(rows(stored).sort()).toEqual(rows(again).sort());
    },
  );
});

/** Removes the output lines that depend on the machine. */
function said(output: string): string {
  return output
    .split("\n")
    .filter((line) => !/EmbedderIdentityUnknownWarning|^ {2}_enforce_embedder_identity/.test(line))
    .join("\n");
}

test("a summary is deleted with its drawer, and masks secrets", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const ids = await fill(palace);
  await using shim = await palace.shim();
  const secret = `ghp_${"a1B2".repeat(9)}`;
  await shim.call("mempalace_add_drawer", { wing: "Work", room: "api", content: `the key is ${secret} for now` });
  const { code, stdout } = await palace.run("mempalace", ["compress", "--json"]);
  expect(code).toBe(0);
  const { drawers, stored } = JSON.parse(stdout) as { drawers: number; stored: number };
  expect(stored).toBe(drawers);
  const summaries = (): Map<string, string> => {
    const database = new Database(palace.config.paths.ledgerFile, { readonly: true });
    const rows = database.prepare<[], { id: string; text: string }>("SELECT id, text FROM closet").all();
    database.close();
    return new Map(rows.map(({ id, text }) => [id, text]));
  };
  expect(summaries().size).toBe(stored);
  expect([...summaries().values()].join("\n")).not.toContain(secret.slice(0, 20));
  // These drawers have no source, so only their own deletion can remove their summaries.
  const [deleted = "", changed = ""] = [ids[3], ids[6]];
  expect([summaries().has(deleted), summaries().has(changed)]).toEqual([true, true]);
  await shim.call("mempalace_delete_drawer", { drawer_id: deleted });
  await shim.call("mempalace_update_drawer", { drawer_id: changed, content: "another text" });
  expect([summaries().has(deleted), summaries().has(changed)]).toEqual([false, false]);
});

test("compress fails without a palace as upstream does, and names a wrong config file in its error", async () => {
  await using palace = createTestPalace();
  const none = await palace.run("mempalace", ["compress"]);
  expect([none.code, none.stdout]).toEqual([1, expect.stringContaining("No palace found at")]);
  mkdirSync(join(palace.home, "x"));
  for (const text of ["[]", "{", '{"entities":{"A":5}}']) {
    const file = join(palace.home, "bad.json");
    writeFileSync(file, text);
    const { code, stderr } = await palace.run("mempalace", ["compress", "--config", file]);
    expect([code, stderr], text).toEqual([1, expect.stringContaining("bad.json")]);
  }
});
