/** Tests every row of the table in palace.md 9: each verb and flag of MemPalace 3.11 works, or the output says why not. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { mempalaceEnv, mempalaceMissing, runMempalace } from "../../helpers/python-mempalace.ts";
import { inStep } from "../../helpers/python-rows.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: parity with ${VERSION} (${missing})`);

/** Mines two projects whose files mention Alice and Zanzibar. */
async function mineTwo(palace: TestPalace): Promise<string[]> {
  const roots = ["one", "two"].map((name) => join(palace.home, name));
  for (const root of roots) {
    mkdirSync(root);
    writeFileSync(join(root, ".gitignore"), "");
    for (const file of ["a.md", "b.md", "c.md"])
      writeFileSync(
        join(root, file),
        `Alice met Zanzibar. Alice likes Zanzibar, and Zanzibar likes Alice. Notes of ${file}, long enough to be filed.\n`.repeat(
          3,
        ),
      );
    const mined = await palace.run("mempalace", ["--backend", "chroma", "mine", root, "--redetect-origin", "--direct"]);
    expect(mined.code, mined.stderr).toBe(0);
  }
  return roots;
}

it.skipIf(missing !== undefined)(
  "sync of several folders and hallways print the same as the real MemPalace",
  { timeout: 900_000 },
  async () => {
    await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
    mempalaceEnv(palace.home);
    await palace.startBroker();
    const [one = "", two = ""] = await mineTwo(palace);
    expect(existsSync(join(palace.config.paths.palaceDir, ".mempalace/origin.json"))).toBe(true);
    writeFileSync(join(one, ".gitignore"), "b.md\n");
    writeFileSync(join(two, ".gitignore"), "c.md\na.md\n");
    await inStep(palace);
    const ask = [
      ["sync", one, "--root", two],
      ["sync", "--root", one, "--root", two, "--wing", "two"],
      ["hallways"],
      ["hallways", "--wing", "one", "--limit", "1"],
      ["hallways", "--wing", "none"],
    ];
    const ours: unknown[] = [];
    for (const args of ask) {
      const { code, stdout } = await palace.run("mempalace", args);
      ours.push([args, code, stdout]);
    }
    await palace.run("mempalace", ["daemon", "stop"]);
    const theirs: unknown[] = [];
    for (const args of ask) {
      const { code, output } = await runMempalace(VERSION, args, { home: palace.home });
      const words = output.split("\n").filter((line) => !/EmbedderIdentityUnknownWarning|_enforce_embedder/.test(line));
      theirs.push([args, code, words.join("\n")]);
    }
    expect(ours).toEqual(theirs);
  },
);

test("one sync prunes two folders, hallways --rebuild makes the hallways again, and `daemon` acts on the broker", async () => {
  await using palace = createTestPalace();
  const [one = "", two = ""] = await mineTwo(palace);
  writeFileSync(join(one, ".gitignore"), "b.md\n");
  writeFileSync(join(two, ".gitignore"), "c.md\n");
  const applied = await palace.run("mempalace", ["sync", one, "--root", two, "--apply"]);
  expect([applied.code, applied.stdout]).toEqual([0, expect.stringContaining("Removed 2 drawers")]);
  const again = await palace.run("mempalace", ["hallways", "--rebuild"]);
  expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/Rebuilt \d+ hallways across 2 wing\(s\)\./)]);
  const status = await palace.run("mempalace", ["daemon", "status", "--json"]);
  expect([status.code, JSON.parse(status.stdout)]).toMatchObject([0, {}]);
  expect((await palace.run("mempalace", ["daemon", "stop"])).code).toBe(0);
});

it.skipIf(missing !== undefined)(
  "wrong usage and commands without a palace end with the same exit codes as the real MemPalace",
  { timeout: 900_000 },
  async () => {
    await using palace = createTestPalace();
    for (const args of [
      ["hook"],
      ["instructions"],
      ["instructions", "dance"],
      ["daemon"],
      ["rooms"],
      ["kg"],
      ["dance"],
      ["sweep", join(palace.home, "nowhere")],
      ["mine", palace.home, "--extract", "everything"],
      ["mine", palace.home, "--source", "gmail"],
      ["mine", palace.home, "--mode", "guess"],
      ["init", join(palace.home, "nowhere"), "--no-llm"],
      ["init", palace.home, "--llm-provider", "oracle"],
      ["search", "x"],
      ["status"],
      ["wake-up"],
      ["compress"],
    ]) {
      const ours = await palace.run("mempalace", args);
      const theirs = await runMempalace(VERSION, args, { home: palace.home });
      expect([args, ours.code]).toEqual([args, theirs.code]);
    }
  },
);

/** Placeholder in the arguments for the test's own folder. */
const HOME = "@";

test.each<[string[], number, string]>([
  // A flag that another mode of `mine` needs is accepted, as upstream accepts it.
  [
    ["mine", HOME, "--extract", "general", "--include-subagents", "--dry-run"],
    0,
    "--extract has no effect in mode projects",
  ],
  [
    ["mine", HOME, "--mode", "convos", "--no-gitignore", "--include-ignored", "a", "--include-ignored", "b,c"],
    0,
    "no effect in mode convos",
  ],
  [
    [
      "mine",
      HOME,
      "--mode",
      "convos",
      "--max-chunks-per-file",
      "5",
      "--limit",
      "1",
      "--extract",
      "general",
      "--agent",
      "me",
    ],
    0,
    "--max-chunks-per-file has no effect",
  ],
  [
    [
      "mine",
      HOME,
      "--include-ignored",
      "x",
      "--include-ignored",
      "y",
      "--no-gitignore",
      "--max-chunks-per-file",
      "9",
      "--dry-run",
    ],
    0,
    "",
  ],
  [["mine", HOME, "--extract", "everything"], 2, "--extract takes"],
  [["mine", HOME, "--source", "gmail"], 2, "unknown source adapter 'gmail'"],
  [["mine", HOME, "--limit", "many"], 2, "--limit"],
  [["mine"], 2, "argument is missing"],
  [["mine", HOME, "--nonsense"], 2, "nonsense"],
  [["mine", HOME, "--backend", "qdrant"], 1, "--backend qdrant"],
  [["--backend=chroma", "status"], 0, "No palace found"],
  [["search", "x", "--query-task", "poem"], 2, "--query-task takes"],
  [["sweep", HOME, "--direct"], 0, ""],
  [["sync", "--apply"], 0, "No palace found"],
  [["sync", "--root", HOME, "--root", `${HOME}/in`], 2, "is in another"],
  [["hook"], 0, "mempalace hook run"],
  [["hook", "run", "--hook", "session-end", "--harness", "claude-code"], 0, "{}"],
  [["hook", "run", "--hook", "stop"], 2, "--harness takes"],
  [["hook", "run", "--hook", "dance", "--harness", "codex"], 2, "--hook takes"],
  [["instructions"], 0, "usage: mempalace instructions"],
  [["instructions", "audit"], 0, "# MemPalace: audit"],
  [["repair", "--mode", "fancy"], 2, "--mode takes"],
  [["repair", "rebuild-index", "--confirm-truncation-ok", "--archive-existing", "--no-backup"], 0, "No palace found"],
  [["repair", "--mode", "max-seq-id", "--segment", "x", "--yes"], 1, "mempalace repair --yes"],
  [["daemon"], 0, "mempalace daemon start|stop|status|jobs"],
  [["daemon", "dance"], 2, "invalid choice"],
  [["daemon", "wait", "job"], 1, "palace status jobs"],
  [["rooms"], 2, "mempalace rooms {propose,apply} --wing WING"],
  [["rooms", "propose", "--wing", "x"], 1, "list_rooms"],
  [["wings", "split", "--wing", "x"], 1, "list_wings"],
  [["kg", "normalize"], 1, "kg_query"],
  [["tunnels", "prune"], 1, "list_tunnels"],
  [["hallways", "--prune-spellings"], 1, "hallways --rebuild"],
  [["audit"], 1, "palace doctor"],
  [["serve", "--port", "1"], 1, "palace start"],
  [["migrate-wings"], 1, "mempalace status"],
  [["palace"], 2, "set-embedder"],
  [["update", "check"], 1, "npm install"],
  [["logstream", "sync"], 1, "no other copy"],
  [["logstream"], 0, "palace events append"],
  [["logstream", "list"], 0, "No matching events."],
  [["logstream", "list", "--order", "up"], 2, "--order"],
  [["logstream", "list", "--limit", "0"], 1, "limit must be a positive integer"],
  [["logstream", "wait", "--timeout-ms", "1"], 2, "Timed out; no matching events."],
  [["logstream", "append", "--type", "t"], 2, "--stream"],
  [["task"], 0, "palace events task create"],
  [["artifact", "get", "art_none"], 1, "artifact 'art_none' not found"],
  [["-h"], 0, "usage: mempalace"],
])("%j exits as upstream does and prints its reason", async (args, code, words) => {
  await using palace = createTestPalace();
  const folder = join(palace.home, "work");
  mkdirSync(join(folder, "in"), { recursive: true });
  writeFileSync(join(folder, "a.md"), "Some text that is long enough to be worth a drawer of its own.\n");
  const answer = await palace.run(
    "mempalace",
    args.map((one) => one.replaceAll(HOME, folder)),
  );
  expect([answer.code, answer.stdout + answer.stderr]).toEqual([code, expect.stringContaining(words)]);
  expect(readFileSync(join(folder, "a.md"), "utf8")).toContain("Some text");
});
