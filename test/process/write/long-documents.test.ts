import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { SOURCE_CALL_MAX_BYTES, SOURCE_PART_MAX } from "../../../src/protocol/limits.ts";
import { ourRows, type Row, upstreamRows } from "../../helpers/mined-rows.ts";
import { createTestPalace, ROOT, type TestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, type MempalaceVersion } from "../../helpers/python-mempalace.ts";
import { python, runMempalace } from "../../helpers/python-mempalace.ts";
import { chooserOf, prose } from "../../helpers/transcripts.ts";

const MEBIBYTE = 1024 * 1024;
const NAME = "big.txt";

const lines = (about: string, length: number): string =>
  `${about} says the broker writes it down for everybody\n`.repeat(Math.ceil(length / 50));
/** Returns a text that is mostly blank: it has as many parts as any text of this length, but a tenth of the drawers. */
const sparse = (about: string, length: number): string =>
  (lines(about, 800) + " ".repeat(8_000)).repeat(Math.ceil(length / 8_800));
/** Line of characters with three bytes each. Parts are cut by characters, so a text above the byte limit has only two parts. */
const WIDE_LINE = "日本語の長い文書。\n";
const WIDEST_LINE = "𠀋𠀌𠀍𠀎𠀏🦊𠀐𠀑。\n";
const wide = (about: string): string => `${about} ${(WIDE_LINE.repeat(80) + "\u3000".repeat(8_000)).repeat(205)}`;

function put(root: string, text: string, day: number): void {
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, NAME), text);
  utimesSync(join(root, NAME), 1_700_000_000 + day * 86_400, 1_700_000_000 + day * 86_400);
}

const rootOf = (palace: TestPalace): string => join(palace.home, "project");
const mine = (palace: TestPalace) => palace.run("palace", ["mine", "projects", rootOf(palace), "--json"]);

function read<T>(palace: TestPalace, sql: string): T[] {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const rows = ledger.prepare<[], T>(sql).all();
  ledger.close();
  return rows;
}
const partsOf = (palace: TestPalace): number => read(palace, "SELECT 1 FROM source_part").length;
/** Returns the texts, counts and closets of a source, without times and without ids (an id contains the path). */
const content = (palace: TestPalace): unknown => ({
  texts: read(palace, "SELECT text, json_extract(metadata, '$.chunk_index') FROM drawer ORDER BY 2, 1"),
  places: read(palace, "SELECT drawers FROM place"),
  closets: read<{ lines: number }>(palace, "SELECT count(*) AS lines FROM closet"),
  mark: read(palace, "SELECT sha256, drawers FROM source"),
});

/** Returns the content of a palace after each of the documents was mined without a kill. */
async function undisturbed(...documents: string[]): Promise<unknown[]> {
  await using calm = createTestPalace();
  const contents = [];
  for (const [day, text] of documents.entries()) {
    put(rootOf(calm), text, day);
    expect(await mine(calm)).toMatchObject({ code: 0 });
    contents.push(content(calm));
  }
  return contents;
}

const closetsOf = async (version: MempalaceVersion, home: string, palace: string): Promise<Row[]> => {
  const dump = `
import json, sys
from mempalace.palace import get_closets_collection
found = get_closets_collection(sys.argv[1]).get(include=["documents", "metadatas"])
print(json.dumps([{"id": i, "text": d, "metadata": m} for i, d, m in zip(found["ids"], found["documents"], found["metadatas"])]))`;
  const stdout = await python(version, home, dump, [palace]);
  return JSON.parse(stdout.slice(stdout.indexOf("["))) as Row[];
};
/** Removes what differs between two runs: the clock's times, and the last bit of floats, which Chroma sometimes changes. */
function timeless({ text, metadata }: Row): unknown {
  const { filed_at: _filed, last_modified: _modified, source_mtime: mtime, ...rest } = metadata;
  return { text, rest, mtime: Number(mtime ?? 0).toFixed(5) };
}

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.warn(`skipped: ${missing}`);
test.skipIf(missing !== undefined)(
  `a file of more than 5 MiB becomes the same drawers and closets as with MemPalace ${VERSION}`,
  { timeout: 600_000 },
  async () => {
    await using palace = createTestPalace();
    const home = mkdtempSync(join(tmpdir(), "upstream-"));
    try {
      const chooser = chooserOf(Number(process.env["FUZZ_SEED"] ?? 1));
      let text = "# Plan of Alice\n\nAlice and Bob decided to keep it. Bob agreed.\n";
      // Most characters have four bytes, and drawers are cut by characters. Both homes set a large drawer size, because MemPalace takes
      // time that grows with the square of the number of drawers.
      for (const one of [palace.home, home]) {
        mkdirSync(join(one, ".mempalace"), { recursive: true });
        writeFileSync(join(one, ".mempalace/config.json"), '{"chunk_size":8000}');
      }
      for (let bytes = 0; bytes <= SOURCE_CALL_MAX_BYTES;) {
        const more = `${prose(chooser, 24)}${chooser.pick(["\n", "\n\n", "\r\n"])}${WIDEST_LINE.repeat(600)}`;
        text += more;
        bytes += Buffer.byteLength(more);
      }
      const root = join(home, "project");
      put(root, text, 1);
      const upstream = join(home, "palace");
      const [mined, ours] = await Promise.all([
        runMempalace(VERSION, ["--palace", upstream, "mine", root], { home }),
        palace.run("palace", ["mine", "projects", root, "--json"]),
      ]);
      expect(mined.code, mined.output).toBe(0);
      expect(ours.code, ours.stderr).toBe(0);

      const [left, right] = [ourRows(palace), await upstreamRows(VERSION, home, upstream)];
      expect(left.size).toBeGreaterThan(150);
      expect([...left.keys()].sort()).toEqual([...right.keys()].sort());
      for (const [key, row] of left) expect(timeless(row)).toEqual(timeless(right.get(key) as Row));

      const closets = read<{ id: string; text: string; metadata: string }>(palace, "SELECT * FROM closet");
      const mine = closets.map(({ id, text: lines, metadata }) => [
        id,
        timeless({ text: lines, metadata: JSON.parse(metadata) as Row["metadata"] }),
      ]);
      expect(mine.length).toBeGreaterThan(0);
      const theirs = (await closetsOf(VERSION, home, upstream)) as (Row & { id: string })[];
      expect(mine).toEqual(theirs.map((closet) => [closet.id, timeless(closet)]));
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
);

/** Kill points, each with the number of the write to kill. Writes 1 and 2 send the parts of the document, write 3 files it. */
const BLOWS = [
  ["admit.before-queue", 1],
  ["commit.after-apply", 2],
  ["commit.before-commit", 3],
  ["commit.after-sync", 1],
  ["commit.after-sync", 2],
  ["acknowledge.before-reply", 3],
] as const;

const OLD = lines("the old one", 4_000);
const WIDE = wide("the new one");
let calm: Promise<unknown[]> | undefined;

test.each(BLOWS)(
  "the broker is killed at %s of write %i: the run continues, and the new document exists once",
  { timeout: 300_000 },
  async (point, nth) => {
    expect(Buffer.byteLength(WIDE)).toBeGreaterThan(SOURCE_CALL_MAX_BYTES);
    expect(Math.ceil(WIDE.length / SOURCE_PART_MAX)).toBe(2);
    const [, expected] = await (calm ??= undisturbed(OLD, WIDE));
    await using palace = createTestPalace();
    put(rootOf(palace), OLD, 0);
    const first = await palace.startBroker();
    expect(await mine(palace)).toMatchObject({ code: 0 });
    const stopped = once(first, "exit");
    first.kill("SIGTERM");
    await stopped;
    const died = once(await palace.startBroker({ MEMPALACE_FAULT: `${point}:${nth}` }), "exit");
    put(rootOf(palace), WIDE, 1);
    const { code, stdout, stderr } = await mine(palace);
    expect(code, stderr).toBe(0);
    expect(await died).toEqual([null, "SIGKILL"]);
    expect(JSON.parse(stdout)).toMatchObject({ filed: 1, skipped: [] });
    expect(content(palace)).toEqual(expected);
    expect(partsOf(palace)).toBe(0);
  },
);

test("a miner killed after any part leaves the whole old or the whole new document, and the next run files the new document", async () => {
  const long = sparse("the new one", 6 * MEBIBYTE);
  const [before, expected] = await undisturbed(OLD, long);
  await using palace = createTestPalace();
  let between = 0;
  for (const parts of [1, 2, 4, 6]) {
    put(rootOf(palace), OLD, parts * 2);
    expect(await mine(palace)).toMatchObject({ code: 0 });
    expect(content(palace)).toEqual(before);
    put(rootOf(palace), long, parts * 2 + 1);
    const miner = spawn(process.execPath, [palace.executable("palace"), "mine", "projects", rootOf(palace)], {
      ...{ cwd: ROOT, env: palace.env, stdio: "ignore" },
    });
    const ended = once(miner, "exit");
    while (miner.exitCode === null && partsOf(palace) < parts) await delay(1);
    miner.kill("SIGKILL");
    await ended;
    // Waits for the broker's answer, because parts that the dead miner sent may still be in the queue.
    await palace.run("palace", ["status"]);
    const [{ n = 0 } = {}] = read<{ n: number }>(
      palace,
      "SELECT count(*) AS n FROM drawer WHERE text LIKE '%the new one%'",
    );
    expect(content(palace)).toEqual(n === 0 ? before : expected);
    if (n === 0 && partsOf(palace) >= parts) between += 1;
    if (parts % 4 === 0) killBroker(palace);
    expect(await mine(palace)).toMatchObject({ code: 0 });
    expect(content(palace)).toEqual(expected);
    expect(partsOf(palace)).toBe(0);
  }
  // On a quick machine some runs finish before their kill.
  expect(between).toBeGreaterThan(1);
}, 300_000);

/** Kills the broker. The next client starts another broker. */
function killBroker(palace: TestPalace): void {
  process.kill(readBrokerFile(palace.config.paths.brokerFile)?.pid ?? 0, "SIGKILL");
}

test("while a document arrives in parts, only the old document is found and counted", async () => {
  await using palace = createTestPalace();
  put(rootOf(palace), lines("the zebra", 4_000), 0);
  expect(await mine(palace)).toMatchObject({ code: 0 });
  const client = await palace.client();
  const { drawers } = await client.call("palace.status", {});
  const found = async (query: string): Promise<number> =>
    ((await client.call("drawer.search", { query, mode: "lexical" }))["results"] as unknown[]).length;
  const sourceFile = join(rootOf(palace), NAME);
  await client.call("source.part", { sourceFile, sending: "one", from: 0, content: lines("the giraffe", 9_000) });
  expect(await found("zebra")).toBeGreaterThan(0);
  expect(await found("giraffe")).toBe(0);
  expect(await client.call("palace.status", {})).toMatchObject({ drawers });
  client.close();
  // A later mine files a shorter document in one message. The parts sent before are removed.
  put(rootOf(palace), lines("the okapi", 4_000), 1);
  expect(await mine(palace)).toMatchObject({ code: 0 });
  expect(partsOf(palace)).toBe(0);
});

test("three miners that send the same file at the same time file it whole and once", async () => {
  const [expected] = await undisturbed(sparse("it", 6 * MEBIBYTE));
  await using palace = createTestPalace();
  put(rootOf(palace), sparse("it", 6 * MEBIBYTE), 0);
  await palace.startBroker();
  const codes = (await Promise.all([mine(palace), mine(palace), mine(palace)])).map(({ code }) => code);
  expect(codes).toContain(0);
  expect(content(palace)).toEqual(expected);
  expect(await mine(palace)).toMatchObject({ code: 0 });
  expect(content(palace)).toEqual(expected);
  expect(partsOf(palace)).toBe(0);
}, 120_000);
