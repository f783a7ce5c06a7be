import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { Chooser } from "../../fuzz/chooser.ts";
import { ourRows } from "../../helpers/mined-rows.ts";
import { createTestPalace, ROOT, type TestPalace } from "../../helpers/palace.ts";
import { seededRandom } from "../../helpers/random.ts";

const KILLS = 7;
const RUNS_MAX = 24;
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const lines = (about: string, count: number): string =>
  Array.from({ length: count }, (_, at) => `${about}, line ${at}: the broker writes it down for everybody\n`).join("");

/** Returns lines of a Claude Code transcript: `count` exchanges, numbered from `from`. Each exchange becomes one drawer. */
function exchanges(from: number, count: number): string {
  const message = (role: string, content: string): string =>
    `${JSON.stringify({ type: role, timestamp: "2026-01-02T03:04:05Z", message: { role, content } })}\n`;
  return Array.from({ length: count }, (_, at) =>
    [message("user", `question ${from + at} about it`), message("assistant", `we decided: ${"word ".repeat(60)}`)].join(
      "",
    ),
  ).join("");
}

/** Miner to test. `make` makes its sources, `grow` changes them before the run with the given number, `argv` is its command. */
type Miner = {
  name: string;
  make: (root: string) => void;
  grow: (root: string, run: number) => void;
  argv: (root: string) => string[];
};

const talks = {
  make: (root: string): void => {
    for (let at = 0; at < 30; at++)
      put(join(root, `talk-${at}.jsonl`), exchanges(at * 10_000, at % 10 === 0 ? 2_200 : 40));
  },
  // Lengthens one of the three long transcripts, of which a later run reads only the new end.
  grow: (root: string, run: number): void =>
    appendFileSync(join(root, `talk-${(run % 3) * 10}.jsonl`), exchanges(500_000 + run * 10, 3)),
};
const project = {
  make: (root: string): void => {
    for (let at = 0; at < 160; at++)
      put(join(root, `part-${at % 9}/file-${at}.md`), lines(`file ${at}`, 10 + (at % 40) * 6));
  },
  grow: (root: string, run: number): void => {
    for (let at = run; at < 160; at += 20)
      put(join(root, `part-${at % 9}/file-${at}.md`), lines(`file ${at} of run ${run}`, 30));
  },
};
const paper = (about: string, count: number): string => `{\\rtf1 ${lines(about, count).replaceAll("\n", "\\par\n")}}`;
const MINERS: readonly Miner[] = [
  { name: "projects", ...project, argv: (root) => ["mine", "projects", root] },
  {
    name: "formats",
    make: (root) => {
      for (let at = 0; at < 160; at++)
        put(join(root, `part-${at % 9}/file-${at}.rtf`), paper(`file ${at}`, 10 + (at % 40) * 6));
    },
    grow: (root, run) => {
      for (let at = run; at < 160; at += 20)
        put(join(root, `part-${at % 9}/file-${at}.rtf`), paper(`file ${at} of run ${run}`, 30));
    },
    argv: (root) => ["mine", "formats", root],
  },
  { name: "docs", ...project, argv: (root) => ["mine", "docs", root] },
  { name: "convos", ...talks, argv: (root) => ["mine", "convos", root] },
  { name: "convos, general", ...talks, argv: (root) => ["mine", "convos", root, "--extract", "general"] },
];

/** Returns ids, texts and the metadata without times. With `isStaged`, also removes the home from the path of each drawer's staged copy. */
function content(palace: TestPalace, isStaged: boolean): unknown[] {
  const rows = [...ourRows(palace)].map(([id, { text, metadata }]) => {
    const {
      filed_at: _filed,
      last_modified: _modified,
      source_mtime: _mtime,
      authored_at: _authored,
      ...rest
    } = metadata;
    if (!isStaged) return { id, text, rest };
    const source = String(rest["source_file"]).slice(palace.home.length);
    return { id: `${source} ${rest["chunk_index"]}`, text, rest: { ...rest, source_file: source, source_dir_ino: "" } };
  });
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
}

test.each(MINERS)(
  "$name: a miner killed many times files the same as an undisturbed run",
  { timeout: 600_000 },
  async ({ name, make, grow, argv }) => {
    const isStaged = name === "docs";
    await using palace = createTestPalace();
    await using calm = createTestPalace();
    const chooser = new Chooser(seededRandom(SEED));
    const root = join(palace.home, "source");
    make(root);
    await palace.startBroker();
    let killed = 0;
    for (let run = 0; run < RUNS_MAX && killed < KILLS; run++) {
      if (run % 4 === 3) grow(root, run);
      const child = spawn(process.execPath, [palace.executable("palace"), ...argv(root)], {
        cwd: ROOT,
        env: palace.env,
        stdio: ["ignore", "ignore", "pipe"],
      });
      const ended = once(child, "exit");
      // Kills only after the first output, because an earlier kill interrupts no work.
      await Promise.race([once(child.stderr, "data"), ended]);
      child.stderr.resume();
      await delay(chooser.below(100));
      if (child.exitCode === null) killed += Number(child.kill("SIGKILL"));
      await ended;
    }
    // On a quick machine many runs finish before their kill.
    expect(killed).toBeGreaterThan(KILLS / 3);
    for (const one of [palace, calm]) {
      const { code, stderr } = await one.run("palace", argv(root));
      expect(code, stderr).toBe(0);
    }
    // The next run has nothing to file, because the miner's own notes and the palace's filing records count every source as done.
    const { stdout } = await palace.run("palace", [...argv(root), "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ filed: 0, drawers: 0, skipped: [] });
    const mine = content(palace, isStaged);
    expect(mine.length).toBeGreaterThan(500);
    expect(mine).toEqual(content(calm, isStaged));
  },
);
