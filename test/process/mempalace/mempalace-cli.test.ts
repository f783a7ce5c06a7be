import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { mempalaceEnv, mempalaceMissing, runMempalace } from "../../helpers/python-mempalace.ts";
import { inStep } from "../../helpers/python-rows.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: parity with ${VERSION} (${missing})`);

const NOTES: readonly [wing: string, room: string, text: string][] = [
  ...Array.from({ length: 4 }, (_, n): [string, string, string] => [
    "garden",
    "plants",
    `The fern number ${n} is watered`,
  ]),
  ["garden", "tools", `${"A very long story of the spade, ".repeat(12)}ä 日本 👩‍👩‍👧\nwith a second line`],
  ["garden", "tools", "The rake stands behind the shed"],
  ["Work", "meetings", "  We decided to move the release to Friday  "],
];

async function fill(palace: TestPalace): Promise<void> {
  await using shim = await palace.shim();
  for (const [at, [wing, room, content]] of NOTES.entries())
    await shim.call("mempalace_add_drawer", {
      wing,
      room,
      content,
      ...(at % 2 === 0 && { source_file: `/notes/${at}.md` }),
    });
}

/** Removes the output lines that depend on the machine or its other programs. */
function said(output: string): string {
  return output
    .split("\n")
    .filter((line) => !/^ {2}Device: |EmbedderIdentityUnknownWarning|^ {2}_enforce_embedder_identity/.test(line))
    .join("\n");
}

describe.skipIf(missing !== undefined)(`beside MemPalace ${VERSION}`, () => {
  it("status and wake-up print the same text as MemPalace, and search prints its hits in the same form", async () => {
    await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
    mempalaceEnv(palace.home);
    await palace.startBroker();
    const before = await palace.run("mempalace", ["wake-up"]);
    expect(before.stdout).toContain("## L1 — No palace found. Run: mempalace mine <dir>");
    await fill(palace);
    writeFileSync(join(palace.config.paths.settingsDir, "identity.txt"), "\nI am Atlas.\n");
    await inStep(palace);
    const ask = [
      ["status"],
      ["wake-up"],
      ["wake-up", "--wing", "garden"],
      ["wake-up", "--wing", "nowhere"],
      ["search", "the rake behind the shed", "--wing", "garden", "--room", "tools", "--results", "1"],
    ];
    const ours: string[] = [];
    for (const args of ask) {
      const { code, stdout } = await palace.run("mempalace", args);
      expect(code, args.join(" ")).toBe(0);
      ours.push(stdout);
    }
    await palace.run("palace", ["stop"]);
    const theirs: string[] = [];
    for (const args of ask) {
      const { code, output } = await runMempalace(VERSION, args, { home: palace.home });
      expect(code, args.join(" ")).toBe(0);
      theirs.push(said(output));
    }
    const masked = (text: string): string => text.replaceAll(/(cosine_sim|bm25)=[\d.]+/g, "$1=N");
    expect(ours.slice(0, -1)).toEqual(theirs.slice(0, -1));
    expect(masked(ours.at(-1) ?? "")).toBe(masked(theirs.at(-1) ?? ""));
  });
});

test("the exit codes are upstream's: 2 for wrong usage, 1 for a failure, and 0 for a palace that is missing or empty", async () => {
  await using palace = createTestPalace();
  const codes: [string[], number, string][] = [
    [[], 0, "usage: mempalace"],
    [["--version"], 0, "MemPalace 3.11.0"],
    [["status"], 0, "No palace found at"],
    [["search", "x"], 1, "No palace found at"],
    [["search"], 2, "argument is missing"],
    [["search", "x", "--results", "0"], 2, "--results"],
    [["serach", "x"], 2, "invalid choice: 'serach'"],
    [["mine", palace.home, "--mode", "guess"], 2, "--mode takes"],
    [["mine", join(palace.home, "nowhere"), "--mode", "convos"], 1, "nowhere"],
    [["init", join(palace.home, "nowhere")], 1, "directory not found"],
    [["split"], 2, "argument is missing"],
    [["split", "/nowhere", "--min-sessions", "x"], 2, "--min-sessions"],
    [["hook", "walk"], 2, "the only action is run"],
    [["sweep", join(palace.home, "nowhere")], 1, "nowhere"],
    [["instructions", "mine"], 0, "# MemPalace: mine"],
    [["instructions", "dance"], 2, "invalid choice"],
    [["mcp"], 0, "claude mcp add mempalace -- mempalace-mcp\n"],
    [["repair"], 0, "No palace found at"],
  ];
  // Commands on an existing palace.
  const there: typeof codes = [
    [["status"], 0, "No palace found at"],
    [["search", "x"], 1, "No palace found at"],
    [["repair"], 0, "Aborted"],
    [["sync", "--apply"], 2, "wing"],
  ];
  const check = async ([args, code, words]: (typeof codes)[number]): Promise<void> => {
    const answer = await palace.run("mempalace", args);
    expect([answer.code, answer.stdout + answer.stderr], args.join(" ")).toEqual([
      code,
      expect.stringContaining(words),
    ]);
  };
  for (const one of codes) await check(one);
  await palace.run("palace", ["start"]);
  for (const one of there) await check(one);
});

test("init writes the rooms that the folders' names suggest, as upstream does, and never overwrites a project file", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "My Project");
  for (const folder of ["docs", "src/api", "node_modules/ui", "Front-End", "x", "special things", "(odd)"])
    mkdirSync(join(root, folder), { recursive: true });
  const look = await palace.run("mempalace", ["init", root]);
  expect([look.code, look.stdout]).toEqual([0, expect.stringContaining("Nothing written")]);
  expect(existsSync(join(root, "mempalace.yaml"))).toBe(false);
  expect(await palace.run("mempalace", ["init", root, "--yes", "--no-llm"])).toMatchObject({ code: 0 });
  const names = (text: string): string[] =>
    [...text.matchAll(/^ *- name: (.+)$/gm)].map(([, name = ""]) => name).sort();
  const ours = readFileSync(join(root, "mempalace.yaml"), "utf8");
  expect(ours).toContain("wing: my_project\n");
  expect(names(ours)).toEqual(["backend", "documentation", "frontend", "general", "special_things", "src"]);
  const again = await palace.run("mempalace", ["init", root, "--yes"]);
  expect(again.stdout).toContain("stays as it is");
  expect(readFileSync(join(root, "mempalace.yaml"), "utf8")).toBe(ours);
  if (missing !== undefined) return;
  rmSync(join(root, "mempalace.yaml"));
  const theirs = await runMempalace(VERSION, ["init", root, "--yes", "--no-llm"], { home: palace.home });
  expect(theirs.code, theirs.output).toBe(0);
  const text = readFileSync(join(root, "mempalace.yaml"), "utf8");
  expect(names(text)).toEqual(names(ours));
  expect(text).toContain("wing: my_project\n");
});

test("mine files conversations, search finds them, sync prints its count, and --palace names another palace", async () => {
  await using palace = createTestPalace();
  const chats = join(palace.home, "chats");
  mkdirSync(chats);
  writeFileSync(
    join(chats, "one.txt"),
    "> How do herons sleep?\nOn one leg, in the reeds, all night long.\n\n> Why?\nIt is warm.\n",
  );
  const mined = await palace.run("mempalace", ["mine", chats, "--mode", "convos", "--wing", "birds", "--agent", "me"]);
  expect([mined.code, mined.stdout]).toEqual([0, expect.stringContaining("birds")]);
  const found = await palace.run("mempalace", ["search", "herons sleep reeds", "--results", "1"]);
  expect([found.code, found.stdout]).toEqual([0, expect.stringMatching(/\[1\] birds \/ [^]*Match:[^]*one leg/)]);
  expect((await palace.run("mempalace", ["search", "zebra crossing", "--wing", "nobody"])).stdout).toContain(
    "No results found for",
  );
  const other = join(palace.home, "other");
  expect((await palace.run("mempalace", ["--palace", other, "status"])).stdout).toContain(
    `No palace found at ${other}`,
  );
  expect((await palace.run("mempalace", ["status"])).stdout).toContain("WING: birds");
  expect(await palace.run("mempalace", ["sync", "--wing", "birds"])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/MemPalace Sync[^]*Scanned: {8}\d/),
  });
  await palace.run("palace", ["stop", "--palace", other]);
});
