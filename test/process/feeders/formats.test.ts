import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { Converter } from "../../../src/feeders/converter.ts";
import { convert } from "../../../src/feeders/format-miner/convert.ts";
import { ourRows, type Row, upstreamRows } from "../../helpers/mined-rows.ts";
import { docx, epub, lockedOffice, pdf, pptx, wordParagraph, xlsx } from "../../helpers/office-files.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, MEMPALACE_VERSIONS, python } from "../../helpers/python-mempalace.ts";

const long = (about: string, count: number): string =>
  Array.from({ length: count }, (_, at) => `${about}, line ${at}: Alice asked why the broker writes`).join(". ");
const rtf = (text: string): Buffer => Buffer.from(`{\\rtf1\\ansi ${text.replaceAll(". ", ".\\par ")}}`, "latin1");

const FILES: Readonly<Record<string, Buffer>> = {
  "plan.docx": docx(wordParagraph(`Written on 31/12/2023. ${long("plan", 60)}`)),
  "server/notes-2024-11-08.rtf": rtf(long("notes", 40)),
  "deep/a/Slides.PPTX": pptx([{ title: "Why", text: long("slide", 12), notes: long("spoken", 5) }]),
  "deep/a.xlsx": xlsx({
    Costs: Array.from({ length: 30 }, (_, at) => `<c t="inlineStr"><is><t>Postgres ${at}</t></is></c>`),
  }),
  "docs/book.epub": epub("A book", [`<h1>One</h1><p>${long("chapter", 30)}</p>`]),
  "docs/paper.pdf": pdf([long("page", 30).split(". ")]),
  "short.rtf": rtf("too short"),
};

function writeFiles(root: string, files: Readonly<Record<string, Buffer | string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
    utimesSync(join(root, path), 1_700_000_000, 1_700_000_000.25);
  }
}

/** Runs upstream's miner with given texts in place of its converters, which are an optional package. */
const MINE = `
import json, sys
from mempalace import format_miner
texts = json.load(open(sys.argv[3]))
format_miner._extract_via_markitdown = lambda path: texts[str(path)]
format_miner._extract_via_striprtf = lambda path: texts[str(path)]
format_miner.mine_formats(sys.argv[1], sys.argv[2], wing=sys.argv[4] or None, agent="ada")`;

const SETTINGS = "wing: my-wing\nrooms:\n  - name: backend\n    keywords: [server, Postgres]\n  - name: deep\n";

function timeless({ text, metadata }: Row, left: readonly string[]): unknown {
  const { filed_at: filedAt, source_mtime: mtime, ...rest } = metadata;
  if (rest["last_modified"] !== undefined) rest["last_modified"] = "then";
  for (const key of left) delete rest[key];
  return { text, rest, times: { filedAt: typeof filedAt, mtime: Number(mtime).toFixed(5) } };
}
const byPlace = (rows: Map<string, Row>): Map<string, Row> =>
  new Map([...rows.values()].map((row) => [`${row.metadata["source_file"]}\n${row.metadata["chunk_index"]}`, row]));

/** Text of each of FILES, converted once for all tests. */
let converted: Promise<Record<string, string>> | undefined;

async function convertAll(): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [path, bytes] of Object.entries(FILES)) texts[path] = await convert(path, bytes, 1e6);
  return texts;
}

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.warn(`skipped: ${missing}`);
  const isNew = version === "3.11.0";
  test.skipIf(missing !== undefined).each([
    ["with rooms", SETTINGS, ""],
    ["with settings and no rooms", "wing: my-wing\n", ""],
    ["without settings", undefined, "other wing"],
  ] as const)(
    `office documents %s become the same drawers as with MemPalace ${version}`,
    { timeout: 600_000 },
    async (_what, settings, wing) => {
      await using palace = createTestPalace();
      const home = mkdtempSync(join(tmpdir(), "upstream-"));
      const root = join(home, "My-Papers X");
      try {
        writeFiles(root, { ...FILES, ...(settings !== undefined && { "mempalace.yaml": settings }) });
        const texts = Object.entries(await (converted ??= convertAll())).map(([path, text]) => [
          join(root, path),
          text,
        ]);
        writeFileSync(join(home, "texts.json"), JSON.stringify(Object.fromEntries(texts)));
        const upstream = join(home, "palace");
        const argv = ["mine", "formats", root, "--json", "--agent", "ada", ...(wing === "" ? [] : ["--wing", wing])];
        const [ours] = await Promise.all([
          palace.run("palace", argv),
          python(version, home, MINE, [root, upstream, join(home, "texts.json"), wing]),
        ]);
        expect(ours.code, ours.stderr).toBe(0);

        // Leaves out the rows that upstream files for files without text, because we file no such rows.
        const theirs = [...(await upstreamRows(version, home, upstream))].filter(([id]) => !id.startsWith("sentinel_"));
        const [left, right] = isNew
          ? [ourRows(palace), new Map(theirs)]
          : [byPlace(ourRows(palace)), byPlace(new Map(theirs))];
        expect([...left.keys()].sort()).toEqual([...right.keys()].sort());
        expect(left.size).toBeGreaterThan(12);
        const ignored = isNew ? [] : ["id_recipe", "last_modified", "content_date_source", "source_dir_ino"];
        for (const [key, row] of left) expect(timeless(row, ignored)).toEqual(timeless(right.get(key) as Row, ignored));
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    },
  );
}

type Report = { filed: number; unchanged: number; drawers: number; skipped: { file: string; outcome?: string }[] };

test(
  "a second run of `mine formats` sends nothing, a changed document is replaced, and an unreadable document is named and does not stop the run",
  {
    timeout: 300_000,
  },
  async () => {
    await using palace = createTestPalace();
    const root = join(palace.home, "papers");
    writeFiles(root, {
      ...FILES,
      "bad.pdf": "no PDF at all, only words",
      "locked.docx": lockedOffice(),
      "empty.xlsx": "",
      ".away.pdf.icloud": "x",
      "~$plan.docx": "x",
      "node_modules/p/z.rtf": rtf(long("never", 9)),
      "code.ts": "const never = 1;",
    });
    symlinkSync(join(root, "plan.docx"), join(root, "linked.docx"));
    symlinkSync(join(root, "gone.docx"), join(root, "lost.docx"));
    const mine = async (...args: string[]): Promise<Report> => {
      const { stdout, stderr, code } = await palace.run("palace", ["mine", "formats", root, "--json", ...args]);
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout) as Report;
    };
    const outcomes = {
      ".away.pdf.icloud": "cloud_only",
      "bad.pdf": "extraction_error",
      "empty.xlsx": "empty",
      "linked.docx": undefined,
      "locked.docx": "encrypted",
      "lost.docx": "broken_symlink",
      "short.rtf": undefined,
    };
    const named = ({ skipped }: Report): unknown =>
      Object.fromEntries(skipped.map(({ file, outcome }) => [file, outcome]));
    const dry = (await mine("--dry-run")) as Report & { wouldFile: string[] };
    expect(dry.wouldFile).toContain("docs/paper.pdf");
    const limited = await mine("--limit", "2");
    expect(limited).toMatchObject({ filed: 2 });
    const first = await mine();
    expect(first).toMatchObject({ filed: 4, unchanged: 2 });
    expect(named(first)).toEqual(outcomes);
    const rows = ourRows(palace);
    expect(rows.size).toBeGreaterThan(12);

    const again = await mine();
    expect(again).toMatchObject({ filed: 0, unchanged: 6, drawers: 0 });
    expect(named(again)).toEqual(outcomes);
    expect(ourRows(palace)).toEqual(rows);
    // A document with a new file time and the same bytes does not count as changed.
    utimesSync(join(root, "plan.docx"), 1_700_000_100, 1_700_000_100);
    expect(await mine()).toMatchObject({ filed: 0, unchanged: 6 });

    writeFileSync(join(root, "plan.docx"), docx(wordParagraph(long("another plan", 3))));
    writeFileSync(join(root, "bad.pdf"), pdf([long("it works", 9).split(". ")]));
    expect(await mine()).toMatchObject({ filed: 2, unchanged: 5 });
    const texts = [...ourRows(palace).values()].map(({ text }) => text).join("\n");
    expect(texts).toContain("another plan, line 2");
    expect(texts).not.toContain(" plan, line 50");
    expect(texts).toContain("it works, line 8");
    expect(texts).not.toContain("never");
  },
);

test("`mempalace mine`, tool `mine` and `palace mine formats` file equal drawers", { timeout: 300_000 }, async () => {
  await using palace = createTestPalace();
  await using other = createTestPalace();
  const root = join(palace.home, "papers");
  writeFiles(root, FILES);
  await palace.startBroker();
  const ran = await palace.run("mempalace", ["mine", root, "--mode", "extract", "--no-gitignore", "--limit", "3"]);
  expect(ran.code, ran.stderr).toBe(0);
  await using agent = await palace.shim();
  expect(await agent.call("mempalace_mine", { source: root, mode: "extract" })).toMatchObject({
    ...{ success: true, mode: "extract", status: "done", wing: "papers", filed: 3, unchanged: 3 },
  });
  const direct = await other.run("palace", ["mine", "formats", root, "--json"]);
  expect(direct.code, direct.stderr).toBe(0);
  expect([...ourRows(palace).keys()].sort()).toEqual([...ourRows(other).keys()].sort());
});

test(
  "a document that takes too long or too much memory is given up, and the next document is read",
  { timeout: 300_000 },
  async () => {
    const root = mkdtempSync(join(tmpdir(), "formats-"));
    try {
      writeFiles(root, {
        "long.docx": docx(wordParagraph("word ".repeat(20)).repeat(300_000)),
        "next.rtf": rtf("the next one is read"),
      });
      const limits = { sizeMax: 1e9, textMax: 1e9, timeMaxMs: 120_000, memoryMaxMebibytes: 512 };
      for (const [tight, why] of [
        [{ timeMaxMs: 50 }, "still being converted"],
        [{ memoryMaxMebibytes: 24 }, "needs more memory"],
      ] as const) {
        const converter = new Converter({ ...limits, ...tight });
        const given = await converter.read(join(root, "long.docx"));
        expect(given).toMatchObject({ outcome: "extraction_error", isPassing: false });
        expect("reason" in given ? given.reason : "").toContain(why);
        if ("memoryMaxMebibytes" in tight)
          expect(await converter.read(join(root, "next.rtf"))).toMatchObject({ text: "the next one is read" });
        await converter.close();
      }
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
);
