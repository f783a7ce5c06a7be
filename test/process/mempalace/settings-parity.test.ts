import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ourRows, type Row, upstreamRows } from "../../helpers/mined-rows.ts";
import { configure, filed, HALLS, put, WORDS } from "../../helpers/mined-settings.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import {
  mempalaceMissing,
  MEMPALACE_VERSIONS,
  type MempalaceVersion,
  openMempalace,
  runMempalace,
} from "../../helpers/python-mempalace.ts";
import { chooserOf, prose } from "../../helpers/transcripts.ts";

const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
const missing = new Map<string, string>();
for (const version of MEMPALACE_VERSIONS) {
  const why = await mempalaceMissing(version);
  if (why === undefined) continue;
  missing.set(version, why);
  console.warn(`skipped: ${why}`);
}

type Settings = Record<string, unknown>;
const CASES: readonly [what: string, settings: Settings, isNewOnly?: boolean][] = [
  ["sizes and halls of their own", { chunk_size: 301, chunk_overlap: 37, min_chunk_size: 120, hall_keywords: HALLS }],
  ["names of other languages", { chunk_size: 500, min_chunk_size: null, entity_languages: ["DE", "ru"] }],
  ["small drawers as texts", { chunk_size: " 6_0 ", chunk_overlap: "0", min_chunk_size: 0.9, hall_keywords: {} }],
  ["large drawers", { chunk_size: 9_000.7, chunk_overlap: 4_000, min_chunk_size: 800 }],
  [
    "values that are none",
    { chunk_size: "many", chunk_overlap: -1, min_chunk_size: true, hall_keywords: { "": ["a"] } },
  ],
  ["sizes that do not fit each other", { chunk_size: 90, min_chunk_size: 500, chunk_overlap: 44 }],
  ["more overlap than half", { chunk_size: 150, chunk_overlap: 140, min_chunk_size: 140 }, true],
];

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

const byPlace = (rows: Map<string, Row>): Map<string, Row> =>
  new Map([...rows.values()].map((row) => [`${row.metadata["source_file"]}\n${row.metadata["chunk_index"]}`, row]));

type Mine = { home: string; root: string; settings: Settings };

/** Lets MemPalace `version` mine the project `root` with these settings, and returns its rows. */
async function minedBy(version: MempalaceVersion, { home, root, settings }: Mine): Promise<Map<string, Row>> {
  configure([home], settings);
  const upstream = join(home, "palace");
  const mined = await runMempalace(version, ["--palace", upstream, "mine", root], { home });
  expect(mined.code, mined.output).toBe(0);
  return upstreamRows(version, home, upstream);
}

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
        const versions = isNewOnly === true ? (["3.11.0"] as const) : MEMPALACE_VERSIONS;
        const [ours, ...all] = await Promise.all([
          palace.run("palace", ["mine", "projects", root, "--json"]),
          ...versions.map((version) => minedBy(version, { home: join(folder, `home-${version}`), root, settings })),
        ]);
        expect(ours.code, ours.stderr).toBe(0);
        const mine = ourRows(palace);
        expect(mine.size).toBeGreaterThan(5);

        for (const [at, version] of versions.entries()) {
          const theirs = all[at] as Map<string, Row>;
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
        // Starts the broker without the settings: the settings in the environment of `palace mine` count.
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
          const [mined, result] = await Promise.all([
            runMempalace("3.11.0", ["--palace", upstream, "mine", root], { home, env }),
            palace.run("palace", ["mine", "projects", root], { env }),
          ]);
          expect(mined.code, mined.output).toBe(0);
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
