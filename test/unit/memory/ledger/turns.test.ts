/** Compares the counts of outcomes, by week and in total, with one query over all rows. Also tests the pages of turns. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { createLedger } from "../../../helpers/ledger-fixture.ts";
import { seededRandom } from "../../../helpers/random.ts";

const TALKS = 60;
const DRAWERS = 40;
const SCORES = 12_000;
const DAY_MS = 86_400_000;
const BEGIN_MS = Date.UTC(2026, 0, 5);

/** SQL for the last outcome of each shown memory, from all rows at once. */
const BY_WEEK = `WITH told AS (SELECT id, conversation, outcome, max(nth) AS nth FROM scored WHERE conversation IS NOT NULL GROUP BY 1, 2),
    said AS (SELECT id, outcome, at_ms, max(nth) AS nth FROM scored WHERE source = 'user' AND conversation IS NULL GROUP BY id)
  SELECT week, agent, count(*) AS shown, sum(last IS 'worked') AS worked, sum(last IS 'partial') AS partial, sum(last IS 'failed') AS failed
  FROM (SELECT date(c.at_ms / 1000, 'unixepoch', '-6 days', 'weekday 1') AS week, c.agent,
      iif(said.nth > ifnull(told.nth, -1), said.outcome, told.outcome) AS last
    FROM conversation c JOIN shown s ON s.conversation = c.id AND s.id <> ''
    LEFT JOIN told ON told.id = s.id AND told.conversation = c.id
    LEFT JOIN said ON said.id = s.id AND said.at_ms >= c.at_ms)
  GROUP BY week, agent ORDER BY week, agent`;

let folder: string;
let file: string;
let reader: SqliteLedgerReader;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "turns-"));
  file = join(folder, "ledger.sqlite3");
  const ledger = createLedger(file);
  const random = seededRandom(7);
  const pick = (count: number): number => Math.floor(random() * count);
  ledger.transaction(() => {
    const talk = ledger.prepare("INSERT INTO conversation VALUES (?, ?, 9, 1, 0, 1, NULL, '[]', ?)");
    const show = ledger.prepare("INSERT OR IGNORE INTO shown VALUES (?, ?, ?)");
    for (let at = 0; at < TALKS; at++) {
      talk.run(`c${at}`, ["pi", "claude"][at % 2], BEGIN_MS + pick(40) * DAY_MS);
      for (let one = 0; one < 9; one++) show.run(`c${at}`, pick(20) === 0 ? "" : `d${pick(DRAWERS)}`, 1 + pick(9));
    }
    const score = ledger.prepare("INSERT INTO scored VALUES (?, ?, ?, ?, ?, 1, ?, NULL)");
    for (let nth = 1; nth <= SCORES; nth++) {
      const isPerson = pick(40) === 0;
      const outcome = ["worked", "partial", "failed"][pick(3)];
      const [source, of] = isPerson ? ["user", null] : ["agent", `c${pick(TALKS * 4)}`];
      score.run(`d${pick(DRAWERS * 2)}`, nth, BEGIN_MS + nth * 300_000, outcome, source, of);
    }
  })();
  ledger.close();
  reader = new SqliteLedgerReader(file);
});

afterEach(() => {
  reader.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns the answer, and the number of event loop turns before it. Other calls can run in these turns. */
async function besides<T>(answer: Promise<T>): Promise<{ value: T; turns: number }> {
  let [turns, isOver] = [0, false];
  const done = answer.finally(() => (isOver = true));
  for (; !isOver; turns++) await nextTurn();
  return { value: await done, turns };
}

test("the weekly outcomes of shown memories equal the result of one query over all rows, and other calls run meanwhile", async () => {
  const ledger = new Database(file, { readonly: true });
  const { value, turns } = await besides(reader.helpedByWeek(""));
  expect(value).toEqual(ledger.prepare(BY_WEEK).all());
  ledger.close();
  expect(value.length).toBeGreaterThan(5);
  expect(turns).toBeGreaterThan(2);
});

test("outcomes since a time are all counted once, and other calls run meanwhile", async () => {
  const sinceMs = BEGIN_MS + 20 * DAY_MS;
  const ledger = new Database(file, { readonly: true });
  const sql = "SELECT outcome, count(*) AS told FROM scored WHERE at_ms >= ? GROUP BY outcome";
  for (const since of [0, sinceMs, Number.MAX_SAFE_INTEGER]) {
    const rows = ledger.prepare<[number], { outcome: string; told: number }>(sql).all(since);
    const { value, turns } = await besides(reader.toldSince(since));
    const counted = Object.fromEntries(rows.map(({ outcome, told }) => [outcome, told]));
    expect(value).toEqual({ worked: 0, partial: 0, failed: 0, ...counted });
    expect(turns).toBeGreaterThan(2);
  }
  ledger.close();
});

test("pages of turns are parts of one list, the newest conversation first, its newest turn first", () => {
  const ledger = new Database(file, { readonly: true });
  const all = ledger
    .prepare(
      `SELECT c.id AS conversation, c.agent, c.at_ms AS atMs, s.turn, json_group_array(s.id ORDER BY s.id) AS ids
         FROM conversation c JOIN shown s ON s.conversation = c.id AND s.id <> '' GROUP BY c.id, s.turn ORDER BY c.at_ms DESC, c.id, s.turn DESC`,
    )
    .all()
    .map((row) => ({ ...(row as object), ids: JSON.parse((row as { ids: string }).ids) as string[] }));
  ledger.close();
  for (const [limit, offset] of [
    [5, 0],
    [7, 13],
    [1_000, 0],
    [3, 100_000],
  ] as const)
    expect(reader.turns({ prefix: "" }, limit, offset)).toEqual({
      turns: all.slice(offset, offset + limit),
      total: all.length,
    });
});
