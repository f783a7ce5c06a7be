/**
 * Tests the settings in MemPalace's config.json and environment that decide how texts are filed. With the same settings the same project,
 * transcripts and notes become the same drawers and links as with the real MemPalace.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ourRows, type Row, upstreamRows } from "../../helpers/mined-rows.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, MEMPALACE_VERSIONS, openMempalace, runMempalace } from "../../helpers/python-mempalace.ts";
import { chooserOf, prose, transcriptFiles } from "../../helpers/transcripts.ts";

const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
const missing = new Map<string, string>();
for (const version of MEMPALACE_VERSIONS) {
  const why = await mempalaceMissing(version);
  if (why === undefined) continue;
  missing.set(version, why);
  console.warn(`skipped: ${why}`);
}

/** Hall keywords from the texts below: some in capitals, some not ASCII, one in two halls, an empty hall, and a text in place of a list. */
const HALLS = {
  weather: ["Storm", "storm", "naïve", "日本", "über", "lock"],
  locks: ["lock", "lock", "deadlock"],
  empty: [],
  letters: "zq",
  "two words": ["the lock", "e.g."],
};
const WORDS = [
  "STORM",
  "storm",
  "Naïve",
  "日本語",
  "ÜBER",
  "deadlock",
  "the LOCK",
  "zebra",
  "quiz",
  "e.g.",
  "database",
];

type Settings = Record<string, unknown>;
const CASES: readonly [what: string, settings: Settings, isNewOnly?: boolean][] = [
  ["sizes and halls of their own", { chunk_size: 301, chunk_overlap: 37, min_chunk_size: 120, hall_keywords: HALLS }],
  ["names of other languages", { chunk_size: 500, entity_languages: ["DE", "ru"] }],
  ["small drawers as texts", { chunk_size: " 6_0 ", chunk_overlap: "0", min_chunk_size: 0.9, hall_keywords: {} }],
  ["large drawers", { chunk_size: 9_000.7, chunk_overlap: 4_000, min_chunk_size: 800 }],
  ["values that are none", { chunk_size: "many", chunk_overlap: -1, min_chunk_size: true }],
  ["sizes that do not fit each other", { chunk_size: 90, min_chunk_size: 500, chunk_overlap: 44 }],
  ["more overlap than half", { chunk_size: 150, chunk_overlap: 140, min_chunk_size: 140 }, true],
  ["none", { chunk_size: null, hall_keywords: { "": ["a"] } }],
];

/** Writes `settings` into MemPalace's config.json in each home. */
function configure(both: readonly string[], settings: unknown): void {
  for (const home of both) {
    mkdirSync(join(home, ".mempalace"), { recursive: true });
    writeFileSync(join(home, ".mempalace/config.json"), JSON.stringify(settings));
  }
}

function put(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function writeProject(root: string): void {
  const chooser = chooserOf(SEED);
  for (let file = 0; file < 12; file++) {
    const said = Array.from({ length: chooser.between(0, 40) }, () => chooser.pick(WORDS));
    const text = `${prose(chooser, chooser.pick([1, 3, 12, 24]))}\n\n${said.join(chooser.pick([" ", "\n", "\n\n"]))}`;
    put(root, `${file}.md`, text);
  }
  for (const length of [1, 30, 49, 50, 119, 120, 139, 140, 499]) put(root, `of-${length}.md`, "ñ".repeat(length));
  put(root, "blank.md", `a${" ".repeat(700)}b${"\n".repeat(700)}c`);
  put(root, "lines.md", "short line\n".repeat(400));
  put(root, "astral.md", "😀 storm 𝒳 ".repeat(150));
}

/** Returns the parts of a drawer that settings decide or that show where it comes from. */
function filed({ text, metadata }: Row, withEntities = true): unknown {
  const {
    hall,
    room,
    wing,
    entities,
    source_file: file,
    chunk_index: index,
    line_start: from,
    line_end: to,
  } = metadata;
  return { text, hall, room, wing, file, index, from, to, ...(withEntities && { entities }) };
}
const byPlace = (rows: Map<string, Row>): Map<string, Row> =>
  new Map([...rows.values()].map((row) => [`${row.metadata["source_file"]}\n${row.metadata["chunk_index"]}`, row]));

const NONE_MISSING = missing.size === 0;

for (const [what, settings, isNewOnly] of CASES)
  test.skipIf(!NONE_MISSING)(
    `a project becomes the same drawers as with both versions of MemPalace: ${what}`,
    { timeout: 600_000 },
    async () => {
      await using palace = createTestPalace();
      const folder = mkdtempSync(join(tmpdir(), "upstream-"));
      try {
        const root = join(folder, "project");
        writeProject(root);
        configure([palace.home], settings);
        const ours = await palace.run("palace", ["mine", "projects", root, "--json"]);
        expect(ours.code, ours.stderr).toBe(0);
        const mine = ourRows(palace);
        expect(mine.size).toBeGreaterThan(5);

        for (const version of isNewOnly === true ? (["3.11.0"] as const) : MEMPALACE_VERSIONS) {
          const home = join(folder, `home-${version}`);
          configure([home], settings);
          const upstream = join(home, "palace");
          const mined = await runMempalace(version, ["--palace", upstream, "mine", root], { home });
          expect(mined.code, mined.output).toBe(0);
          const theirs = await upstreamRows(version, home, upstream);
          const isNew = version === "3.11.0";
          const [left, right] = isNew ? [mine, theirs] : [byPlace(mine), byPlace(theirs)];
          expect([...left.keys()].sort(), version).toEqual([...right.keys()].sort());
          // Compares names with 3.11 only: a new palace of ours tags names as 3.11 does, and 3.3.6 recognises more words as names.
          for (const [key, row] of left)
            expect(filed(row, isNew), version).toEqual(filed(right.get(key) as Row, isNew));
        }
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );

const TINY_FILES = 4;

for (const extract of ["exchange", "general"])
  for (const settings of [
    { chunk_size: 211, min_chunk_size: 70, hall_keywords: HALLS },
    { chunk_size: 25, min_chunk_size: 26 },
    { chunk_size: 3_000, min_chunk_size: 0 },
  ])
    test.skipIf(missing.has("3.11.0"))(
      `transcripts become the same drawers as with MemPalace 3.11, by ${extract}, in drawers of ${settings.chunk_size}`,
      { timeout: 600_000 },
      async () => {
        await using palace = createTestPalace();
        const home = mkdtempSync(join(tmpdir(), "upstream-"));
        try {
          const root = join(home, "talks");
          // Drawers of 25 characters are so many that some of the files are enough.
          const isTiny = settings.chunk_size === 25;
          // Leaves out the day files of a Slack export, which we read differently (convos-parity.test.ts).
          const files = transcriptFiles(SEED, 1).filter(({ name }) => !name.endsWith("slack.json"));
          for (const { name, text } of isTiny ? files.slice(0, TINY_FILES) : files) put(root, name, text);
          const chooser = chooserOf(SEED);
          for (let at = 0; at < (isTiny ? 1 : 2); at++) {
            const turns = Array.from({ length: 20 }, () => {
              const words = Array.from({ length: chooser.between(1, 40) }, () => chooser.pick(WORDS)).join(" ");
              return `> ${words}\nWe decided on it because it finally works. ${words} I feel happy.`;
            });
            put(root, `talk-${at}.txt`, turns.join(chooser.pick(["\n", "\n\n"])));
          }
          configure([home, palace.home], settings);
          const upstream = join(home, "palace");
          const args = ["--mode", "convos", "--extract", extract];
          const mined = await runMempalace("3.11.0", ["--palace", upstream, "mine", root, ...args], { home });
          expect(mined.code, mined.output).toBe(0);
          const ours = await palace.run("palace", ["mine", "convos", root, "--json", "--extract", extract]);
          expect(ours.code, ours.stderr).toBe(0);

          const theirs = await upstreamRows("3.11.0", home, upstream);
          for (const [id, { metadata }] of theirs) if (metadata["room"] === "_registry") theirs.delete(id);
          const mine = ourRows(palace);
          expect([...mine.keys()].sort()).toEqual([...theirs.keys()].sort());
          for (const [id, row] of mine) expect(filed(row)).toEqual(filed(theirs.get(id) as Row));
          expect(mine.size).toBeGreaterThan(40);
        } finally {
          rmSync(home, { recursive: true, force: true });
        }
      },
    );

type Link = Record<string, unknown>;

for (const [what, settings, env] of [
  ["of config.json", { hallway_min_count: 4, topic_tunnel_min_count: "2" }, {}],
  [
    "of the environment",
    { hallway_min_count: 1, topic_tunnel_min_count: 7 },
    { MEMPALACE_KG_HALLWAY_MIN_COUNT: "3", MEMPALACE_TOPIC_TUNNEL_MIN_COUNT: " 2 " },
  ],
  [
    "that are none, or less than one",
    { hallway_min_count: -5, topic_tunnel_min_count: "some" },
    { MEMPALACE_KG_HALLWAY_MIN_COUNT: "0", MEMPALACE_TOPIC_TUNNEL_MIN_COUNT: "x" },
  ],
] as [string, Settings, Record<string, string>][])
  test.skipIf(missing.has("3.11.0"))(
    `hallways and tunnels are the same as with MemPalace 3.11, with the minimum counts ${what}`,
    { timeout: 600_000 },
    async () => {
      await using palace = createTestPalace();
      const home = mkdtempSync(join(tmpdir(), "upstream-"));
      try {
        configure([home, palace.home], settings);
        const topics = { one: ["Auth", "Redis", "Lua"], two: ["redis", "auth", "C"], three: ["lua", "C", "D"] };
        for (const place of [home, palace.home])
          writeFileSync(join(place, ".mempalace/known_entities.json"), JSON.stringify({ topics_by_wing: topics }));
        const upstream = join(home, ".mempalace/palace");
        // The broker's environment has no settings. The settings of the mine's environment count.
        await palace.startBroker();
        const chooser = chooserOf(SEED);
        const names = ["Alice", "Bob", "Zed", "ChatStore", "WebFetch", "Yara"];
        for (const wing of Object.keys(topics)) {
          const root = join(home, wing);
          for (let file = 0; file < 12; file++) {
            const said = Array.from({ length: chooser.between(2, 6) }, () => chooser.pick(names));
            put(
              root,
              `${file}.md`,
              `${[...said, ...said].join(" , ")} and some filler, to be long enough for a drawer`,
            );
          }
          const mined = await runMempalace("3.11.0", ["--palace", upstream, "mine", root], { home, env });
          expect(mined.code, mined.output).toBe(0);
          const result = await palace.run("palace", ["mine", "projects", root], { env });
          expect(result.code, result.stderr).toBe(0);
        }
        const shim = await palace.shim();
        const { hallways } = (await shim.call("mempalace_list_hallways", { limit: 500 })) as { hallways: Link[] };
        const tunnels = (await shim.call("mempalace_list_tunnels", {})) as unknown as Link[];
        await shim.close();
        const file = (name: string): unknown => JSON.parse(readFileSync(join(dirname(upstream), name), "utf8"));
        const ids = (links: readonly Link[]): unknown[] => links.map(({ id, label }) => `${id} ${label}`).sort();
        expect(ids(hallways)).toEqual(ids((file("hallways.json") as { hallways: Link[] }).hallways));
        expect(ids(tunnels)).toEqual(ids(file("tunnels.json") as Link[]));
        expect(hallways.length).toBeGreaterThan(3);
        expect(tunnels.some(({ kind }) => kind === "topic")).toBe(true);
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    },
  );

for (const version of MEMPALACE_VERSIONS)
  test.skipIf(missing.has(version))(
    `notes of agents become rows of the same size as with MemPalace ${version}`,
    { timeout: 600_000 },
    async () => {
      await using palace = createTestPalace();
      const home = mkdtempSync(join(tmpdir(), "upstream-"));
      try {
        configure([home, palace.home], { chunk_size: 300 });
        const note = { wing: "w", room: "r", content: "0123456789".repeat(95) };
        const diary = { agent_name: "a", entry: "a day of a diary ".repeat(40) };
        await using theirs = await openMempalace(version, { home, palace: join(home, "palace") });
        const shim = await palace.shim();
        const ask = async (tool: string, args: Record<string, unknown>): Promise<unknown[]> => {
          const answers = [await theirs.call(tool, args), await shim.call(`mempalace_${tool}`, args)];
          return answers.map(({ chunks, chunk_ids: ids }) => ({ chunks, ids: (ids as string[] | undefined)?.length }));
        };
        for (const [tool, args, rows] of [
          ["add_drawer", note, 4],
          ["add_drawer", { ...note, content: "x".repeat(300) }, 1],
          ["diary_write", diary, 3],
        ] as const) {
          const [upstream, ours] = await ask(tool, args);
          expect(ours).toEqual(upstream);
          expect(ours).toMatchObject({ chunks: rows });
        }
        await shim.close();
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    },
  );
