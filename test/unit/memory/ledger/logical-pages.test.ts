/** Lists show a split drawer as one entry. The tests compare the pages of such lists with a pass over all drawers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { preview } from "../../../../src/memory/drawer/logical.ts";
import { openForWriting } from "../../../../src/memory/ledger/open.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "../../../../src/memory/ledger/schema/schema.ts";
import type { DrawerFilter } from "../../../../src/memory/port/drawer.ts";
import { seededRandom } from "../../../helpers/random.ts";

const TEXTS = 300;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

type Row = { id: string; wing: string; room: string; day: number; parent?: string; index?: number };

/** Returns single and split drawers in random order. Slices may have different rooms; a split drawer may also have a row of its own id. */
function makeRows(seed: number): Row[] {
  const random = seededRandom(seed);
  const pick = (count: number): number => Math.floor(random() * count);
  const rows = Array.from({ length: TEXTS }, (_, at): Row[] => {
    const place = () => ({ wing: `w${pick(3)}`, room: `r${pick(3)}`, day: 1 + pick(28) });
    const id = `d${pick(1e9)}-${at}`;
    const own = place();
    if (pick(4) > 0) return [{ id, ...own }];
    const slices = Array.from({ length: 1 + pick(4) }, (_slice, index): Row => {
      const where = pick(5) === 0 ? place() : own;
      return { id: `${id} part ${pick(1e6)}`, ...where, parent: id, index: pick(6) === 0 ? 0 : index };
    });
    return pick(6) === 0 ? [...slices, { id, ...place() }] : slices;
  }).flat();
  return rows
    .map((row) => ({ row, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ row }) => row);
}

/** Returns a text of 10 to 600 characters, so that a drawer of four slices may be shorter or longer than a list's preview. */
const textOf = ({ id, day }: Row): string => `€${id}`.repeat(day);
const momentOf = ({ day }: Row): string => `2026-01-${String(day).padStart(2, "0")}T10:00:00`;

function fill(rows: readonly Row[]): void {
  const ledger = new Database(file);
  ledger.pragma("journal_mode = WAL");
  ledger.pragma(`application_id = ${APPLICATION_ID}`);
  ledger.exec(SCHEMA);
  ledger.exec("DROP INDEX drawer_parent");
  const insert = ledger.prepare(
    "INSERT INTO drawer (id, wing, room, source_file, text, date_words, metadata) VALUES (?, ?, ?, '', ?, '', ?)",
  );
  for (const row of rows) {
    const key = row.index === 0 ? "parent_entry_id" : "parent_drawer_id";
    const slice = row.parent === undefined ? {} : { chunk_index: row.index, [key]: row.parent };
    insert.run(row.id, row.wing, row.room, textOf(row), JSON.stringify({ filed_at: momentOf(row), ...slice }));
  }
  // The fixture does not use the ledger's writer, which also indexes words, so it indexes the words of all drawers here.
  ledger.exec("INSERT INTO drawer_fts (drawer_fts) VALUES ('rebuild')");
  ledger.pragma("user_version = 8");
  ledger.close();
}

/** Lists drawers as upstream does: selects rows by wing and room, joins slices to drawers, selects drawers by time, sorts by id. */
function whole(
  rows: readonly Row[],
  { wing, room, since, before }: DrawerFilter,
): { id: string; rows: string[]; shown: string }[] {
  const here = rows.filter((row) => (wing ?? row.wing) === row.wing && (room ?? row.room) === row.room);
  const splits = new Map<string, Row[]>();
  for (const row of here)
    if (row.parent !== undefined) splits.set(row.parent, [...(splits.get(row.parent) ?? []), row]);
  const inOrder = (a: Row, b: Row): number => (a.index ?? 0) - (b.index ?? 0) || (a.id < b.id ? -1 : 1);
  const drawers = [
    ...here
      .filter((row) => row.parent === undefined && !splits.has(row.id))
      .map((row) => ({ id: row.id, slices: [row] })),
    ...[...splits].map(([id, slices]) => ({ id, slices: slices.toSorted(inOrder) })),
  ];
  return drawers
    .filter(({ slices: [first] }) => {
      const moment = first === undefined ? "" : momentOf(first);
      return moment >= (since ?? "") && moment < (before ?? "~");
    })
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, slices }) => ({
      id,
      rows: slices.map((slice) => slice.id),
      shown: preview(slices.map(textOf).join("")),
    }));
}

const FILTERS: readonly DrawerFilter[] = [
  {},
  { wing: "w1" },
  { room: "r2" },
  { wing: "w0", room: "r1" },
  { wing: "absent" },
  { since: "2026-01-10" },
  { since: "2026-01-10", before: "2026-01-12", wing: "w2" },
  { before: "2026-01-20", room: "r0" },
];

test("for every filter, listLogical returns the same page and total as a plain pass over all drawers, with a split drawer as one entry", () => {
  for (const seed of [1, 2, 3]) {
    rmSync(file, { force: true });
    const rows = makeRows(seed);
    fill(rows);
    openForWriting(file).close();
    const reader = new SqliteLedgerReader(file);
    for (const filter of FILTERS) {
      const all = whole(rows, filter);
      for (const [limit, offset] of [
        [1, 0],
        [7, 3],
        [50, 20],
        [1_000, 0],
        [5, 9_999],
      ] as const) {
        const { drawers, total } = reader.listLogical(filter, limit, offset);
        const shown = drawers.map(({ id, rows: parts }) => ({
          ...{ id, rows: parts.map((part) => part.id) },
          shown: preview(parts.map((part) => part.text).join("")),
        }));
        expect({ total, shown }, JSON.stringify({ seed, filter, limit, offset })).toEqual({
          total: all.length,
          shown: all.slice(offset, offset + limit),
        });
      }
    }
    reader.close();
  }
});

test("for every wing and room, listNewest returns each drawer once, the newest first", () => {
  const rows = makeRows(5);
  fill(rows);
  openForWriting(file).close();
  const inOrder = (a: Row, b: Row): number => (a.index ?? 0) - (b.index ?? 0) || (a.id < b.id ? -1 : 1);
  const firstOf = (parent: string): Row | undefined => rows.filter((row) => row.parent === parent).toSorted(inOrder)[0];
  // A split drawer is listed at its oldest row, or at its first slice if its slices have different wings or rooms.
  const listedAt = (parent: string): Row | undefined => {
    const slices = rows.filter((row) => row.parent === parent);
    const isSpread = new Set(slices.map(({ wing, room }) => `${wing} ${room}`)).size > 1;
    return isSpread ? firstOf(parent) : slices[0];
  };
  const shown = rows
    .filter((row) => row.parent === undefined || listedAt(row.parent) === row)
    .toReversed()
    .map((row) => (row.parent === undefined ? row : { ...row, id: firstOf(row.parent)?.id ?? "" }));
  const reader = new SqliteLedgerReader(file);
  for (const place of [{}, { wing: "w1" }, { room: "r2" }, { wing: "w0", room: "r1" }, { wing: "absent" }]) {
    const here = shown.filter((row) => Object.entries(place).every(([key, value]) => row[key as "wing"] === value));
    for (const [limit, offset] of [
      [1, 0],
      [7, 3],
      [3, 40],
      [2, 250],
      [1_000, 0],
      [5, 9_999],
    ] as const) {
      const { drawers, total } = reader.listNewest(place, limit, offset);
      expect({ ids: drawers.map(({ id }) => id), total }, JSON.stringify({ place, limit, offset })).toEqual({
        ids: here.slice(offset, offset + limit).map(({ id }) => id),
        total: here.length,
      });
    }
  }
  const counts = new Map<string, number>();
  for (const { wing, room } of shown) counts.set(`${wing} ${room}`, (counts.get(`${wing} ${room}`) ?? 0) + 1);
  const places = reader.wholePlaces().map(({ wing, room, drawers }) => [`${wing} ${room}`, drawers] as const);
  expect(new Map(places)).toEqual(counts);
  reader.close();
});

test("a ledger of version 8 gets the index of slices and keeps every drawer as it is", () => {
  fill(makeRows(4));
  const contents = () => {
    const ledger = new Database(file, { readonly: true });
    const drawers = ledger.prepare("SELECT * FROM drawer ORDER BY row").all();
    expect(ledger.pragma("integrity_check", { simple: true })).toBe("ok");
    ledger.close();
    return drawers;
  };
  const before = contents();
  const opened = openForWriting(file);
  expect(opened.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
  expect(opened.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'drawer_parent'").get()).toBeDefined();
  opened.close();
  expect(contents()).toEqual(before);
});
