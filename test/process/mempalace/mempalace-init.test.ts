import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, test } from "vitest";
import { discoverEntities } from "../../../src/feeders/setup/discover.ts";
import { detectOrigin } from "../../../src/feeders/setup/origin.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceBin, mempalaceEnv, mempalaceMissing, runMempalace } from "../../helpers/python-mempalace.ts";
import { seededRandom } from "../../helpers/random.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: parity with ${VERSION} (${missing})`);

function write(root: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

const COMMITS: readonly (readonly [name: string, address: string, times: number])[] = [
  ["Ada Lovelace", "ada@example.org", 3],
  ["ada", "ada@example.org", 4],
  ["Ada King", "king@example.org", 1],
  ["Ada King", "ada@example.org", 1],
  ["Grace Hopper", "grace@example.org", 21],
  ["handle99", "h@example.org", 2],
  ["dependabot[bot]", "bot@example.org", 2],
  ["Renée Élan", "", 1],
];

function repository(root: string, commits = COMMITS, user = "Ada Lovelace"): void {
  const git = (args: string[], input = ""): unknown =>
    execFileSync("git", ["-C", root, ...args], {
      input,
      env: { PATH: process.env["PATH"], HOME: root, GIT_CONFIG_NOSYSTEM: "1" },
    });
  git(["init", "-q", "-b", "main"]);
  if (user !== "") git(["config", "user.name", user]);
  const at = `${Math.floor(Date.now() / 1000)} +0000`;
  const commit = (author: string): string =>
    `commit refs/heads/main\nauthor ${author} ${at}\ncommitter x <x@example.org> ${at}\ndata 0\n\n`;
  git(
    ["fast-import", "--quiet"],
    commits.map(([name, address, times]) => commit(`${name} <${address}>`).repeat(times)).join(""),
  );
}

const PROSE = `# Notes
Alice said that she would come. Hey Alice, thanks Alice! Alice wrote it down herself, and her plan is good.
> Alice: when?
> Bob: tomorrow. Bob thinks so. Bob asked them. Bob laughed, he did.
We are building Harbor. The Harbor system is deployed; installing Harbor v2 with harbor.py. Harbor-core ships.
Mysterious Stranger came. Mysterious Stranger went. Mysterious Stranger stayed. Claude Code, Claude Code, Claude Code.
Carol carried on. Carol was there. Carol left.
`;

/** Projects of many shapes, by the name of their folder, which is the project's name. */
const PROJECTS: Record<string, (root: string) => void> = {
  "My Tool": (root) => {
    write(root, {
      "package.json": '{"name":"@acme/my-tool"}',
      "crates/core/Cargo.toml": '# x\n[package]\nname = "core"\n',
      "java/pom.xml":
        '<?xml version="1.0"?><project xmlns="x"><parent><artifactId>parent</artifactId></parent><!-- <artifactId>no</artifactId> -->\n<artifactId> app </artifactId></project>',
      "docs/notes.md": PROSE,
      "README.md": "# My tool\nMyTool is built by many.\n",
      "src/index.ts": "export {};\n",
      ".gitignore": "node_modules",
      "vendor/x/package.json": '{"name":"vendored"}',
    });
    repository(root);
  },
  stranger: (root) => {
    write(root, { "go.mod": "\nmodule example.org/x/strange\n" });
    repository(root, [["Grace Hopper", "grace@example.org", 2]], "Somebody Else");
    mkdirSync(join(root, "inner"));
    write(root, { "inner/build.gradle.kts": "", "inner/settings.gradle": "  rootProject.name = 'inner-name'\n" });
    repository(join(root, "inner"), [["Somebody Else", "s@example.org", 1]]);
  },
  plain: (root) =>
    write(root, { "a.md": PROSE, "b.txt": PROSE, "c.rst": "Zoë Zoë Zoë.\r\nX: y\r\n", LICENSE: "Alice Alice Alice" }),
  manifests: (root) =>
    write(root, {
      "pyproject.toml": "[build-system]\nname = \"no\"\n[tool.poetry]\nname = 'poet'\n",
      "sub/package.json": '{"name":5}',
      "sub/pyproject.toml": '[project]\nversion = "1"\nname = "sub"\n',
      "sub/go.mod": "module gone",
      "deep/a/b/c/d/e/f/package.json": '{"name":"too-deep"}',
    }),
  talk: (root) =>
    write(root, { "chat.txt": "user: hello Claude\nassistant: hi, I am Claude, an LLM by Anthropic\n".repeat(20) }),
  few: (root) => write(root, { "x.md": "My cousin Claude plays Opus 5. A sonnet follows.\n" }),
  silent: (root) => write(root, { "x.md": "The sea is calm tonight, and nothing is said of machines. ".repeat(9) }),
  empty: () => {},
};

/** Makes random sentences with the words and signs by which `init` recognises names. */
function randomProse(seed: number): string {
  const random = seededRandom(seed);
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? "";
  const names = [
    "Alice",
    "Bob",
    "MemPalace",
    "Kubernetes",
    "Jane Smith",
    "Harbor",
    "GPT-4",
    "Docker Compose",
    "Straße",
    "The",
    "Élan",
    "McX",
  ];
  const forms = [
    "@ said so.",
    "> @: well",
    "@: a field",
    "[@] spoke",
    '"@ said',
    "hey @!",
    "thanks @",
    "dear @,",
    "building @ now",
    "the @ pipeline",
    "@ v2",
    "@.py",
    "@-core",
    "import @",
    "pip install @",
    "@-1.2.3",
    "@_v4",
    "@ was here, and she was not.",
    "they met @",
    "@ @ @",
    "nothing here",
    "@wants",
    "x@x",
    "@\u0085he",
    "installed  @",
    `${"Ab".repeat(20)}@`,
    "@.json",
    "> @ left",
  ];
  return Array.from(
    { length: 90 },
    () => pick(forms).replaceAll("@", pick(names)) + pick(["\n", " ", "\r\n", "\n\n"]),
  ).join("");
}

const ASK = `
import json, sys
from mempalace.project_scanner import discover_entities
from mempalace.corpus_origin import detect_origin_heuristic
from mempalace.cli import _gather_origin_samples
out = []
for root in json.load(sys.stdin):
    found = discover_entities(root)
    samples = _gather_origin_samples(root)
    origin = detect_origin_heuristic(samples).to_dict() if samples else None
    if origin: origin["evidence"] = None
    out.append({"found": {key: [[e["name"], e["confidence"], e["frequency"], e["signals"]] for e in found[key]]
      for key in ("people", "projects", "uncertain")}, "origin": origin})
json.dump(out, sys.stdout)`;

it.skipIf(missing !== undefined)(
  "init finds the same entities as the real MemPalace, with the same signals",
  { timeout: 900_000 },
  () => {
    const home = mkdtempSync(join(tmpdir(), "init-"));
    try {
      const roots = Object.entries(PROJECTS).map(([name, fill]) => {
        mkdirSync(join(home, name));
        fill(join(home, name));
        return join(home, name);
      });
      for (let seed = 0; seed < 40; seed++) {
        const root = join(home, `random-${seed}`);
        write(root, { "a.md": randomProse(seed), "b.md": randomProse(seed + 100), "c.txt": randomProse(seed + 200) });
        roots.push(root);
      }
      const python = mempalaceBin(VERSION, "python");
      const theirs = JSON.parse(
        execFileSync(python, ["-c", ASK], { input: JSON.stringify(roots), env: mempalaceEnv(home), encoding: "utf8" }),
      ) as unknown[];
      expect(theirs.length).toBe(roots.length);
      roots.forEach((root, at) => {
        const found = Object.entries(discoverEntities(root)).map(([kind, list]) => [
          kind,
          list.map(({ name, confidence, count, signals }) => [name, confidence, count, signals]),
        ]);
        const origin = detectOrigin(root);
        expect(
          { found: Object.fromEntries(found), origin: origin === undefined ? null : { ...origin, evidence: null } },
          root,
        ).toEqual(theirs[at]);
      });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
);

it.skipIf(missing !== undefined)(
  "init writes the same files and prints the same text as the real MemPalace",
  { timeout: 900_000 },
  async () => {
    await using palace = createTestPalace();
    const { home } = palace;
    const known = join(home, ".mempalace/known_entities.json");
    const before = {
      people: ["grace hopper"],
      projects: { alpha: "ALP" },
      other: ["x"],
      topics_by_wing: { my_tool: ["t"], b: ["u"] },
    };
    for (const name of ["My Tool", "plain", "empty"]) {
      const run = async (isOurs: boolean): Promise<unknown> => {
        for (const path of [
          known,
          join(home, ".mempalace/palace"),
          join(home, ".mempalace/config.json"),
          join(home, name),
        ])
          rmSync(path, { recursive: true, force: true });
        // Both programs begin with a home that an older version wrote.
        write(home, { ".mempalace/known_entities.json": JSON.stringify(before), ".mempalace/people_map.json": "{}" });
        const root = join(home, name);
        mkdirSync(root);
        PROJECTS[name]?.(root);
        const args = ["init", root, "--yes", "--no-llm"];
        const { code, output } = isOurs
          ? await palace.run("mempalace", args).then((done) => ({ code: done.code, output: done.stdout + done.stderr }))
          : await runMempalace(VERSION, args, { home });
        const read = (path: string): string | null => {
          try {
            return readFileSync(path, "utf8");
          } catch {
            return null;
          }
        };
        const origin = JSON.parse(read(join(home, ".mempalace/palace/.mempalace/origin.json")) ?? "null") as Record<
          string,
          object
        > | null;
        const config = JSON.parse(read(join(home, ".mempalace/config.json")) ?? "null") as Record<string, unknown>;
        // Sorts the lines, because MemPalace lists folders in the file system's order. Leaves out a question that only MemPalace prints.
        const lines = output.replace("  Mine this directory now? [Y/n] ", "").split("\n").sort();
        return {
          ...{ code, lines, entities: read(join(root, "entities.json")), known: read(known) },
          ignored: read(join(root, ".gitignore"))?.replace(/^# MemPalace.*$/m, "#"),
          origin: origin && { ...origin, detected_at: "", result: { ...origin["result"], evidence: null } },
          config: [config["palace_path"], config["collection_name"]],
        };
      };
      const ours = await run(true);
      expect(ours, name).toEqual(await run(false));
    }
  },
);

test("init keeps existing files and asks no model", async () => {
  await using palace = createTestPalace();
  const { home } = palace;
  const root = join(home, "thing");
  const registry = join(home, ".mempalace/known_entities.json");
  write(root, { "package.json": '{"name":"thing"}', "entities.json": '{"entities":{"Alice":"ALC"},"people":["Old"]}' });
  write(home, { ".mempalace/known_entities.json": "{broken" });
  const asked = await palace.run("mempalace", ["init", root]);
  expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining("No names written")]);
  expect(readFileSync(registry, "utf8")).toBe("{broken");
  const done = await palace.run("mempalace", ["init", root, "--yes", "--llm-provider", "anthropic", "--lang", "en,fr"]);
  expect([done.code, done.stderr]).toEqual([0, expect.stringContaining("No language model is asked")]);
  expect(done.stderr).toContain("English");
  const [, kept = ""] = /kept as (\S+)/.exec(done.stderr) ?? [];
  expect(readFileSync(kept, "utf8")).toBe("{broken");
  expect(JSON.parse(readFileSync(registry, "utf8"))).toEqual({ projects: ["thing"] });
  expect(JSON.parse(readFileSync(join(root, "entities.json"), "utf8"))).toEqual({
    ...{ entities: { Alice: "ALC" }, people: [], projects: ["thing"], topics: [] },
  });
  // `init` does not write through a symbolic link.
  const outside = join(home, "outside.json");
  write(home, { "outside.json": "{}" });
  rmSync(join(root, "entities.json"));
  symlinkSync(outside, join(root, "entities.json"));
  const linked = await palace.run("mempalace", ["init", root, "--yes"]);
  expect(linked.stderr).toContain("is not a JSON object");
  expect(readFileSync(outside, "utf8")).toBe("{}");
  const wrong = await palace.run("mempalace", ["init", root, "--llm-provider", "oracle"]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--llm-provider takes")]);
});
