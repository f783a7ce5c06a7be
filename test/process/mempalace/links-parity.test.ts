import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { isGenericName } from "../../../src/memory/graph/generic-names.ts";
import { canonicalSpellings } from "../../../src/memory/graph/spellings.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, python, runMempalace } from "../../helpers/python-mempalace.ts";
import { chooserOf, prose } from "../../helpers/transcripts.ts";

const missing = await mempalaceMissing("3.11.0");
if (missing !== undefined) console.warn(`skipped: ${missing}`);

type Link = Record<string, unknown>;

const NAMES = ["Alice", "Bob", "Éva", "ChatStore", "chatstore.ts", "src/ChatStore.ts", "lib/ChatStore.ts", "WebFetch"];
const REGISTRY = {
  people: ["Éva", "Server", "a/src/main.zig", "b/src/main.zig", "main.zig", "x.y", "parser.c", "parser.h", "Parser"],
  files: [
    "src/user.py",
    "tests/user.py",
    "user.py",
    "src/ChatStore.ts",
    "lib/ChatStore.ts",
    "chatstore.ts",
    "/app",
    "MESSAGES",
  ],
  topics_by_wing: {
    first: ["Auth ", "Redis", "Straße", ""],
    "sec-ond": ["redis", "auth", "AUTH", "other"],
    third: ["STRASSE", "straße", 7],
  },
};

function writeProject(root: string, chooser: ReturnType<typeof chooserOf>, wing: string): void {
  const names = [...NAMES, ...REGISTRY.people, ...REGISTRY.files];
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  put("mempalace.yaml", `wing: ${wing}\nrooms:\n  - name: a\n  - name: b\n  - name: c\n  - name: d\n  - name: é\n`);
  for (let file = 0; file < 25; file++) {
    const said = Array.from({ length: chooser.between(1, 9) }, () => chooser.pick(names));
    const text = [...said, ...said].join(" , ");
    put(
      `${chooser.pick(["a", "b", "c", "d", "é", ""])}/${file}.md`,
      `${text}\n\n${prose(chooser, 3)} filler to be long enough`,
    );
  }
}

const timeless = ({ created_at: created, last_activated: activated, ...rest }: Link): unknown => ({
  ...rest,
  ...{ created: typeof created, activated: typeof activated },
});
const byId = (links: readonly Link[]): [unknown, unknown][] =>
  links
    .map((link) => [link["id"], timeless(link)] as [unknown, unknown])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));

async function ours(palace: TestPalace): Promise<{ hallways: Link[]; tunnels: Link[] }> {
  const shim = await palace.shim();
  const hallways: Link[] = [];
  for (;;) {
    const { hallways: some, total } = (await shim.call("mempalace_list_hallways", {
      limit: 500,
      offset: hallways.length,
    })) as { hallways: Link[]; total: number };
    hallways.push(...some);
    if (hallways.length >= total) break;
  }
  const tunnels = (await shim.call("mempalace_list_tunnels", {})) as unknown as Link[];
  await shim.close();
  return { hallways, tunnels };
}

test.skipIf(missing !== undefined)(
  "the same mines make the same hallways and tunnels as with MemPalace 3.11",
  { timeout: 600_000 },
  async () => {
    await using palace = createTestPalace();
    const home = mkdtempSync(join(tmpdir(), "upstream-"));
    try {
      const upstream = join(home, ".mempalace/palace");
      const chooser = chooserOf(Number(process.env["FUZZ_SEED"] ?? 1));
      for (const place of [home, palace.home]) {
        mkdirSync(join(place, ".mempalace"), { recursive: true });
        writeFileSync(join(place, ".mempalace/known_entities.json"), JSON.stringify(REGISTRY));
      }
      for (const wing of ["first", "sec-ond", "third", "first"]) {
        // For the second mine some files have changed. The mine removes links of names that no file mentions now.
        writeProject(join(home, wing), chooser, wing);
        const mined = await runMempalace("3.11.0", ["--palace", upstream, "mine", join(home, wing)], { home });
        expect(mined.code, mined.output).toBe(0);
        const result = await palace.run("palace", ["mine", "projects", join(home, wing)]);
        expect(result.code, result.stderr).toBe(0);
      }
      const file = (name: string): unknown => JSON.parse(readFileSync(join(dirname(upstream), name), "utf8"));
      const { hallways, tunnels } = await ours(palace);
      const theirs = (file("hallways.json") as { hallways: Link[] }).hallways;
      expect(theirs.length).toBeGreaterThan(100);
      expect(byId(hallways)).toEqual(byId(theirs));
      const theirTunnels = file("tunnels.json") as Link[];
      expect(new Set(theirTunnels.map(({ kind }) => kind))).toEqual(new Set(["topic", "entity"]));
      // Ignores `updated_at`: each mine of MemPalace writes all records again, ours only changed records.
      const untouched = (links: Link[]): Link[] => links.map(({ updated_at: _, ...link }) => link);
      expect(byId(untouched(tunnels))).toEqual(byId(untouched(theirTunnels)));
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
);

const JUDGE = `
import json, sys
from mempalace.hallways import _wing_file_keys, is_generic_entity
cases = json.load(open(sys.argv[1], encoding="utf-8"))
print(json.dumps([[_wing_file_keys([{"entities": names}]), {n: is_generic_entity(n) for n in names}] for names in cases]))`;

test.skipIf(missing !== undefined)(
  "spellings of one file and meaningless names are treated as MemPalace treats them",
  async () => {
    const chooser = chooserOf(Number(process.env["FUZZ_SEED"] ?? 1));
    const bases = [
      "main.zig",
      "main",
      "Main.ZIG",
      "main.c",
      "main.h",
      "readme.md",
      ".env",
      "x.",
      "content",
      "WebFetch",
      "Bob",
    ];
    const folders = [
      "",
      "src/",
      "a/src/",
      "b/src/",
      "a/",
      "b/",
      "a/b/",
      "b/a/src/",
      "/",
      "lib/src/",
      "\\\\win\\",
      "a/a/",
      "b/a/",
    ];
    const others = [
      "os.path",
      "pathlib.Path",
      "app.js",
      "/app",
      "MESSAGES",
      "operations",
      "ChatStore.send",
      "a",
      "",
      "/",
      "İa.py",
    ];
    const name = (): string =>
      chooser.chance(0.2)
        ? chooser.pick(others)
        : chooser.pick(folders) + chooser.pick(bases) + chooser.pick(["", "", "/"]);
    const cases = Array.from({ length: 1_500 }, () => [
      ...new Set(Array.from({ length: chooser.between(1, 8) }, name).filter((one) => one !== "")),
    ]);
    const home = mkdtempSync(join(tmpdir(), "upstream-"));
    try {
      const file = join(home, "cases.json");
      writeFileSync(file, JSON.stringify(cases));
      const theirs = JSON.parse(await python("3.11.0", home, JUDGE, [file])) as [object, object][];
      cases.forEach((names, index) => {
        const generic = Object.fromEntries(names.map((one) => [one, isGenericName(one)]));
        expect([Object.fromEntries(canonicalSpellings(names)), generic], JSON.stringify(names)).toEqual(theirs[index]);
      });
    } finally {
      rmSync(home, { recursive: true });
    }
  },
);
