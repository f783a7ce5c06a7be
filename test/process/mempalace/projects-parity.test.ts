/**
 * Compares drawers with MemPalace 3.11 by id. The ids and some metadata of 3.3.6 differ, so with 3.3.6 it compares by file and chunk
 * number.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ourRows, type Row, upstreamRows } from "../../helpers/mined-rows.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, MEMPALACE_VERSIONS, runMempalace } from "../../helpers/python-mempalace.ts";
import { chooserOf, prose } from "../../helpers/transcripts.ts";

const SETTINGS = `
wing: my-wing
rooms:
  - name: backend
    description: servers
    keywords: [server, Postgres, "3"]
  - name: front-end
    keywords: [react]
  - name: notes
`;
const DATES = [
  "# 2024-11-08 standup",
  "---\ntitle: x\ndate: 2023-05-01\n---\nbody",
  "---\ncreated: 2023-05-02T23:30:00Z\n---",
  "Met on 31/12/2023, again 01/02/2024",
  "due 03/04/24",
  "On November 8, 2024 we met",
  "at 2024-11-08T10:00:00Z it broke",
  "seen 8 Nov 2024",
  "2024-13-45 is none, 1.2.3.4 neither",
  "",
];

/** Names of people and things. A user registered some of them with MemPalace. */
const NAMES = [
  ...["Alice", "Bob", "Éloise", "McDonald", "ChatStore", "HTTPServer", "Zed", "Al", "Code", "Monday", "Straße"],
  ...["Aya", "aya", "LUMI", "lumi_x", "project zeta", "Project  Zeta", "c++", "İstanbul", "istanbul", "naïve", "a.b"],
];
/** Names that 3.3.6 treats differently: names of several words, and runs of characters longer than a name. */
const NEW_NAMES = [
  ...["Claude Code", "claude code", "GPT-4", "GPT-4o", "Visual Studio Code", "Gemını Pro", "Llama 3.1"],
  ...["a-long-run-of-characters-with/Alice/in-it", "https://example.org/Alice/Bob/and/ChatStore"],
];
const REGISTRY = {
  people: { Aya: null, Lumi: { code: "L" }, "": null },
  projects: ["Project Zeta", "c++", "istanbul", "NAÏVE", "a.b"],
  topics_by_wing: { elsewhere: ["Straße"], broken: "no list" },
  odd: 7,
};

/** Makes a project with a file for each reason to mine a file or leave it out: its name, its folder, ignore rules, its text. */
function writeProject(root: string, seed: number, settings: string | undefined, things: readonly string[]): void {
  const chooser = chooserOf(seed);
  const named = (): string => Array.from({ length: chooser.below(25) }, () => chooser.pick(things)).join(" ");
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    utimesSync(join(root, path), 1_700_000_000 + chooser.between(0, 9e6), 1_700_000_000 + chooser.between(0, 9e6));
  };
  const folders = [
    "",
    "src/",
    "server/api/",
    "docs/",
    "my-backend/",
    "front-end/x/",
    "Notes/",
    "general/",
    "deep/a/b/c/",
  ];
  const names = [
    ...[
      "a.md",
      "b.PY",
      "c.ts",
      "d.tsx",
      "e.json",
      "f.jsonl",
      "g.yml",
      "h.toml",
      "i.rst",
      "j.mdx",
      "k.lock",
      "l",
      "m.csv",
    ],
    ...[
      "backend.md",
      "2024-11-08-notes.md",
      "April-6th-2011-notes.txt",
      "notes_2024_1_2.md",
      "Dockerfile",
      "react.html",
    ],
    ...[
      "package-lock.json",
      "entities.json",
      "secret.log",
      "keep.log.md",
      "x.min.js",
      "é 日本.md",
      ".hidden.md",
      "README",
    ],
  ];
  // The folders in `isWhole` get every file, because the ignore rules name their files. Other folders get every second file.
  const isWhole = (folder: string): boolean => ["", "src/", "deep/a/b/c/"].includes(folder);
  for (const [turn, folder] of folders.entries())
    for (const name of names.filter((_, at) => isWhole(folder) || (at + turn) % 2 === 0)) {
      const text = `${chooser.pick(DATES)}\n${prose(chooser, chooser.pick([1, 4, 12, 24]))}\n${named()}\n${named()}`;
      put(folder + name, chooser.chance(0.1) ? text.replaceAll("\n", "\r\n") : text);
    }
  for (const folder of [
    "node_modules/p",
    ".git",
    "dist",
    "pkg.egg-info",
    "src/target",
    "logs",
    "out/keep",
    "vendor",
    "tmp",
  ])
    put(`${folder}/z.md`, prose(chooser, 40));
  put(
    "names.md",
    Array.from({ length: 30 }, () => "Abcdefghijklmnopqrstuvwxyz".replace(/./g, () => chooser.pick([..."abc"])))
      .map((word) => `N${word.slice(0, 9)} N${word.slice(0, 9)}`)
      .join(" "),
  );
  put("short.md", "  too short  \n");
  put("empty.md", "");
  put("long.txt", `${"word ".repeat(900)}\n\n${"x".repeat(2500)}`);
  put(".gitignore", "logs/\n*.min.js\n!src/x.min.js\n/vendor\nout/**\n# a comment\n\\#x\ndeep/**/c/a.md\n*.PY\n");
  put("src/.gitignore", "c.ts\n!b.PY\n/d.tsx\n");
  put("tmp/.gitignore", "*\n");
  symlinkSync(join(root, "a.md"), join(root, "linked.md"));
  symlinkSync(join(root, "docs"), join(root, "linked-docs"));
  if (settings !== undefined) put("mempalace.yaml", settings);
}

/** Removes what differs between two runs: the clock's times, and the last bit of floats, which Chroma sometimes changes. */
function timeless({ text, metadata }: Row, left: readonly string[]): unknown {
  const { filed_at: filedAt, last_modified: modified, source_mtime: mtime, ...rest } = metadata;
  for (const key of left) delete rest[key];
  return { text, rest, times: { filedAt: typeof filedAt, modified: typeof modified, mtime: Number(mtime).toFixed(5) } };
}

const byPlace = (rows: Map<string, Row>): Map<string, Row> =>
  new Map([...rows.values()].map((row) => [`${row.metadata["source_file"]}\n${row.metadata["chunk_index"]}`, row]));
/** Metadata that only 3.11 writes. */
const NEW_KEYS = ["id_recipe", "chunk_total", "content_date_source", "source_dir_ino"];

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.warn(`skipped: ${missing}`);
  const isNew = version === "3.11.0";
  for (const [what, settings, args] of [
    ["with settings", isNew ? `${SETTINGS}exclude_patterns: [docs/, "g.yml"]\n` : SETTINGS, []],
    ["without settings, ignored paths named", undefined, ["--include-ignored", "logs,vendor/z.md,src/c.ts,l"]],
    ["without heeding .gitignore", undefined, ["--no-gitignore", "--wing", "other wing"]],
  ] as const)
    test.skipIf(missing !== undefined)(
      `a project ${what} becomes the same drawers as with MemPalace ${version}`,
      { timeout: 600_000 },
      async () => {
        await using palace = createTestPalace();
        const home = mkdtempSync(join(tmpdir(), "upstream-"));
        const root = join(home, "My-Project X");
        writeProject(root, Number(process.env["FUZZ_SEED"] ?? 1), settings, isNew ? [...NAMES, ...NEW_NAMES] : NAMES);
        for (const place of [home, palace.home]) {
          mkdirSync(join(place, ".mempalace"), { recursive: true });
          writeFileSync(join(place, ".mempalace/known_entities.json"), JSON.stringify(REGISTRY));
        }
        try {
          const upstream = join(home, "palace");
          const [mined, ours] = await Promise.all([
            runMempalace(version, ["--palace", upstream, "mine", root, ...args], { home }),
            palace.run("palace", ["mine", "projects", root, "--json", ...args]),
          ]);
          expect(mined.code, mined.output).toBe(0);
          expect(ours.code, ours.stderr).toBe(0);

          const theirs = await upstreamRows(version, home, upstream);
          const mine = ourRows(palace);
          const [left, right] = isNew ? [mine, theirs] : [byPlace(mine), byPlace(theirs)];
          expect([...left.keys()].sort()).toEqual([...right.keys()].sort());
          expect(left.size).toBeGreaterThan(150);
          const ignored = isNew ? [] : ["last_modified", ...NEW_KEYS];
          expect(
            [...left.values()].filter(({ metadata }) => metadata["entities"] !== undefined).length,
          ).toBeGreaterThan(100);
          for (const [key, row] of left) {
            const other = right.get(key) as Row;
            if (!isNew) other.metadata["last_modified"] = "";
            expect(timeless(row, ignored)).toEqual(timeless(other, ignored));
          }
        } finally {
          rmSync(home, { recursive: true, force: true });
        }
      },
    );
}
