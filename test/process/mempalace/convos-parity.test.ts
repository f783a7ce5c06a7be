import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ourRows, type Row, upstreamRows } from "../../helpers/mined-rows.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, runMempalace } from "../../helpers/python-mempalace.ts";
import { chooserOf, claudeCodeLines, transcriptFiles } from "../../helpers/transcripts.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.warn(`skipped: ${missing}`);

/** Removes what differs between two runs: the clock's times, and the last bit of floats, which Chroma sometimes changes. */
function timeless([id, { text, metadata }]: [string, Row]): unknown {
  const { filed_at: filedAt, last_modified: modified, authored_at: authored, source_mtime: mtime, ...rest } = metadata;
  const times = {
    filedAt: typeof filedAt,
    modified: typeof modified,
    // MemPalace gives every exchange of a file the time of the file's newest message.
    authored: authored === filedAt ? "when it was filed" : "when it was said",
    mtime: Number(mtime).toFixed(5),
  };
  return { id, text, rest, times };
}

/** Writes transcripts in every format. */
function write(root: string): void {
  const seed = Number(process.env["FUZZ_SEED"] ?? 1);
  for (const { name, text } of transcriptFiles(seed, 5)) {
    // We read the day files of a Slack export differently: with names, without markup, and without the last line that upstream adds.
    if (name.endsWith("slack.json")) continue;
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const chooser = chooserOf(seed);
  for (let at = 0; at < 12; at++) {
    const turns = Array.from({ length: chooser.between(1, 30) }, () => {
      const words = Array.from({ length: chooser.between(1, 8) }, () => chooser.pick(MEMORABLE));
      return (
        chooser.pick(["> ", "Human: ", "Assistant: ", "", "", "```\n", "  "]) +
        words.join(chooser.pick([" ", " ", "\n", ". "]))
      );
    });
    writeFileSync(join(root, `memorable-${at}.txt`), turns.join(chooser.pick(["\n", "\n\n"])));
  }
}

const MEMORABLE = [
  ...[
    "we decided on Postgres because it is simple",
    "let's go with the other approach",
    "over there because",
    "instead of",
  ],
  ...["I prefer snake_case", "always use tabs not spaces", "don't ever mock", "functional code in a pure style"],
  ...["finally it works", "version 3 is 10x faster", "v1.2 shipped", "50% reduction", "the key insight"],
  ...[
    "the bug is a crash",
    "won't ever work",
    "turns out it was the lock",
    "had to do it instead",
    "resolved",
    "root cause",
  ],
  ...["I feel happy", "i'm scared", "love and joy", "nobody knows", "*sighs*", "beautiful wonderful amazing"],
  ...[
    "npm install",
    "const x = y.z",
    "| a | b |",
    "---",
    "x.y(1)",
    "12345 67890 !!!",
    "plain words of no matter",
    "naïve Überbug 日本語",
  ],
];

for (const mode of ["exchange", "general"] as const)
  test.skipIf(missing !== undefined)(
    `the same transcripts become the same drawers as with MemPalace 3.11, cut by ${mode}`,
    { timeout: 600_000 },
    async () => {
      await using palace = createTestPalace();
      const home = mkdtempSync(join(tmpdir(), "upstream-"));
      const root = join(home, "My-Talks");
      write(root);
      const extract = ["--extract", mode];
      try {
        const upstream = join(home, "palace");
        const mined = await runMempalace(
          VERSION,
          ["--palace", upstream, "mine", root, "--mode", "convos", ...extract],
          { home },
        );
        expect(mined.code, mined.output).toBe(0);
        const ours = await palace.run("palace", ["mine", "convos", root, "--json", ...extract]);
        expect(ours.code, ours.stderr).toBe(0);

        const theirs = await upstreamRows(VERSION, home, upstream);
        // Upstream files a row that only records that a file was read. We record this in our filing record of the source.
        for (const [id, { metadata }] of theirs) if (metadata["room"] === "_registry") theirs.delete(id);
        const mine = ourRows(palace);
        expect([...mine.keys()].sort()).toEqual([...theirs.keys()].sort());
        expect(mine.size).toBeGreaterThan(mode === "general" ? 100 : 300);
        for (const [id, row] of mine) expect(timeless([id, row])).toEqual(timeless([id, theirs.get(id) as Row]));
        if (mode === "general")
          expect(new Set([...mine.values()].map(({ metadata }) => metadata["room"])).size).toBe(5);
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    },
  );

test.skipIf(missing !== undefined)(
  "a sweep files the same messages as MemPalace 3.11, each once",
  { timeout: 600_000 },
  async () => {
    await using palace = createTestPalace();
    const home = mkdtempSync(join(tmpdir(), "upstream-"));
    const root = join(home, "sessions");
    mkdirSync(root);
    const chooser = chooserOf(Number(process.env["FUZZ_SEED"] ?? 1));
    for (let at = 0; at < 6; at++) {
      const lines = claudeCodeLines(chooser, 30).map((line, index) => {
        const record = JSON.parse(line) as Record<string, unknown>;
        const numbers = {
          sessionId: `s-${at % 4}`,
          uuid: `m-${at}-${index}`,
          timestamp: `2026-01-02T03:${10 + at}:${10 + index}Z`,
        };
        return JSON.stringify({ ...record, ...numbers, ...(chooser.chance(0.05) && { uuid: "" }) });
      });
      writeFileSync(join(root, `${at}.jsonl`), [...lines, "{", '{"type":"summary"}', ""].join("\n"));
    }
    try {
      const upstream = join(home, "palace");
      const swept = await runMempalace(VERSION, ["--palace", upstream, "sweep", root], { home });
      expect(swept.code, swept.output).toBe(0);
      const run = async (): Promise<Record<string, unknown>> => {
        const { code, stdout, stderr } = await palace.run("palace", ["mine", "sweep", root, "--json"]);
        expect(code, stderr).toBe(0);
        return JSON.parse(stdout) as Record<string, unknown>;
      };
      const first = await run();
      const theirs = await upstreamRows(VERSION, home, upstream);
      const mine = ourRows(palace);
      expect([...mine.keys()].sort()).toEqual([...theirs.keys()].sort());
      expect(mine.size).toBeGreaterThan(60);
      for (const [id, row] of mine) expect(timeless([id, row])).toEqual(timeless([id, theirs.get(id) as Row]));
      expect(first).toMatchObject({ added: mine.size, present: 0 });
      expect(await run()).toMatchObject({ added: 0, changed: 0, present: mine.size });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
);
