/** Checks the query plans of the ledger's reads, so that reads stay fast as it grows, and compares every list with a full scan. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import { Maintenance } from "../../../../src/memory/ledger/write/maintenance.ts";
import type { DrawerFilter, Metadata } from "../../../../src/memory/port/drawer.ts";
import type { WriteCall } from "../../../../src/memory/port/ledger.ts";
import { seededRandom } from "../../../helpers/random.ts";

const DRAWERS = 400;

let folder: string;
let file: string;
let reader: SqliteLedgerReader;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  fill(20_261_122);
  reader = new SqliteLedgerReader(file);
});

afterAll(() => {
  reader.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns metadata with a drawer's time. Some drawers have no valid time: the field is `unknown`, is a number, or is missing. */
function filedAt(at: number): Metadata {
  if (at % 50 === 7) return { filed_at: "unknown" };
  if (at % 50 === 9) return { filed_at: 20_260_105 };
  if (at % 50 === 11) return {};
  // A learned memory has `created_at` instead of `filed_at`.
  if (at % 50 === 13) return { created_at: "2026-02-03T10:00:00" };
  return { filed_at: `2026-01-${String(1 + Math.floor(at / 20)).padStart(2, "0")}T10:00:00` };
}

/** Files drawers with the real writer, then deletes some and moves some. */
function fill(seed: number): void {
  const random = seededRandom(seed);
  const pick = (count: number): number => Math.floor(random() * count);
  const writer = new LedgerWriter(file, (tx, { params }) => {
    const at = params["at"] as number;
    const id = `d${at}`;
    // Wing 4 has one room. In the other wings some drawers are alone in their room.
    const wing = pick(5);
    const metadata = {
      wing: `w${wing}`,
      room: wing === 4 ? "only" : pick(20) === 0 ? `r${at}` : `r${pick(3)}`,
      source_file: pick(4) === 0 ? `/s${pick(6)}.md` : "",
      ...filedAt(at),
    };
    if (params["move"] === true) tx.updateDrawer(id, { metadata: { ...metadata, ...filedAt(at + 20) } });
    else if (params["gone"] === true) tx.deleteDrawer(id);
    else tx.insertDrawers([{ id, text: `words of ${at}`, metadata }]);
    return {};
  });
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const commit = (all: Record<string, unknown>[]): void => {
    const calls = all.map((params): WriteCall => {
      const key = JSON.stringify(params);
      return { key, isRepeatable: true, method: "test.file", params, peer, requestId: key, atMs: 1 };
    });
    expect(writer.commit(calls).outcomes.every(({ outcome }) => outcome.ok)).toBe(true);
  };
  commit(Array.from({ length: DRAWERS }, (_, at) => ({ at })));
  commit(Array.from({ length: DRAWERS / 8 }, (_, at) => ({ at: at * 8, gone: true })));
  commit(Array.from({ length: DRAWERS / 8 }, (_, at) => ({ at: at * 8 + 3, move: true })));
  writer.close();
}

const FILTERS: readonly DrawerFilter[] = [
  {},
  { wing: "w1" },
  { wing: "w4" },
  { wing: "absent" },
  { room: "r1" },
  { room: "only" },
  { wing: "w2", room: "r0" },
  { sourceFile: "/s3.md" },
  { sourceFile: "/s3.md", wing: "w1" },
  { since: "2026-01-05", before: "2026-01-07" },
  { since: "2026-01-18", wing: "w3" },
  { before: "2026-01-02", room: "r2" },
  { since: "2026-01-01", before: "2026-02-01" },
  { since: "2026-01-02", room: "only", wing: "w4" },
  { since: "2026-01-02", wing: "absent" },
  { since: "2026-01-02", sourceFile: "/s3.md" },
];

function isBetween(moment: unknown, since: string | undefined, before: string | undefined): boolean {
  if (since === undefined && before === undefined) return true;
  return (
    typeof moment === "string" && moment.startsWith("2026-") && moment >= (since ?? "") && moment < (before ?? "9")
  );
}

test.each(FILTERS)("a list with the filter %j equals a scan of all drawers, page by page", (filter) => {
  const { wing, room, sourceFile, since, before } = filter;
  const ledger = new Database(file, { readonly: true });
  const everything = ledger
    .prepare<[], { row: number; wing: string; room: string; source: string; filedAt: unknown }>(
      "SELECT row, wing, room, source_file AS source, metadata ->> 'filed_at' AS filedAt FROM drawer ORDER BY row",
    )
    .all();
  ledger.close();
  const all = everything.filter(
    (drawer) =>
      (wing === undefined || drawer.wing === wing) &&
      (room === undefined || drawer.room === room) &&
      (sourceFile === undefined || drawer.source === sourceFile) &&
      isBetween(drawer.filedAt, since, before),
  );
  for (const limit of [1, 2, 7, 100])
    for (const offset of [0, 1, 5, 60, 9_999]) {
      const { drawers, total } = reader.listDrawers(filter, limit, offset);
      const shown = all.slice(offset, offset + limit);
      expect({ total, rows: drawers.map(({ row }) => row) }, `${limit} from ${offset}`).toEqual({
        total: all.length,
        rows: shown.map(({ row }) => row),
      });
    }
});

test("the number of drawers of each day equals a count by scan after drawers were deleted and moved", () => {
  const ledger = new Database(file, { readonly: true });
  const days = ledger
    .prepare<[], unknown>("SELECT coalesce(metadata ->> 'filed_at', metadata ->> 'created_at') FROM drawer")
    .pluck()
    .all();
  ledger.close();
  const counts = new Map<string, number>();
  for (const moment of days) {
    const day = typeof moment === "string" && moment.startsWith("2026-") ? moment.slice(0, 10) : "";
    counts.set(day, (counts.get(day) ?? 0) + 1);
  }
  const scanned = [...counts].map(([day, drawers]) => ({ day, drawers })).toSorted((a, b) => (a.day < b.day ? -1 : 1));
  expect(scanned.length).toBeGreaterThan(10);
  expect(reader.growth()).toEqual(scanned);
});

/** Returns SQLite's plans for all statements that `read` executes. */
function plansOf(read: () => unknown): string[] {
  const prepared = vi.spyOn(Database.prototype, "prepare");
  // Uses a new reader, because a reader prepares each statement only once.
  reader.close();
  reader = new SqliteLedgerReader(file);
  read();
  const statements = prepared.mock.calls.map(([sql]) => sql);
  vi.restoreAllMocks();
  expect(statements.length).toBeGreaterThan(0);
  const ledger = new Database(file, { readonly: true });
  const plans = statements.map((sql) => {
    const nothing = Array.from({ length: sql.split("?").length - 1 }, () => null);
    const steps = ledger.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...nothing) as { detail: string }[];
    return `${sql.replaceAll(/\s+/g, " ")}: ${steps.map(({ detail }) => detail).join("; ")}`;
  });
  ledger.close();
  return plans;
}

/** Returns true if a plan scans all drawers, or sorts rows of drawers with their texts. */
function isDear(plan: string): boolean {
  const [, steps = ""] = plan.split(/: (?=[^:]*$)/);
  // Sorting the slices of one drawer is allowed, because they are few.
  const isSorted =
    steps.includes("TEMP B-TREE") &&
    !steps.includes("drawer_parent (<expr>=?") &&
    /(SEARCH|SCAN) drawer\b(?! USING COVERING INDEX)/.test(steps);
  return /SCAN drawer(;|$| USING)/.test(steps) || isSorted;
}

const QUICK: Readonly<Record<string, () => unknown>> = {
  "one drawer": () => reader.findDrawer("d9"),
  "drawers by row": () => reader.drawersByRow([1, 2, 3]),
  slices: () => reader.slicesOf("d9"),
  "a list of everything": () => reader.listDrawers({}, 20, 0),
  "a list of everything, far down": () => reader.listDrawers({}, 20, DRAWERS / 2),
  "a list of a wing": () => reader.listDrawers({ wing: "w1" }, 1, 0),
  "a list of a wing, far down": () => reader.listDrawers({ wing: "w1" }, 20, 40),
  "a list of a room": () => reader.listDrawers({ room: "r1" }, 1, 0),
  "a list of a room, far down": () => reader.listDrawers({ room: "r1" }, 20, 40),
  "a list of a room of a wing": () => reader.listDrawers({ wing: "w1", room: "r1" }, 20, 0),
  "a list of a source": () => reader.listDrawers({ sourceFile: "/s3.md" }, 20, 0),
  "a list of a window of time": () => reader.listDrawers({ since: "2026-01-05" }, 20, 0),
  "a list of a window of a wing": () => reader.listDrawers({ since: "2026-01-05", wing: "w1" }, 20, 0),
  "a list of a window of a room": () => reader.listDrawers({ before: "2026-01-05", room: "r1" }, 20, 0),
  "a list of a window of a source": () => reader.listDrawers({ before: "2026-01-05", sourceFile: "/s3.md" }, 20, 0),
  places: () => reader.places(),
  "whether a room has drawers": () => [reader.holds({ wing: "w1", room: "r1" }), reader.holds({ room: "r1" })],
  "sources by a part of their names": () => reader.sourcesLike("absent.md", { room: "r1" }, 20),
  "the drawers of each day": () => reader.growth(),
  "the number of drawers": () => reader.drawerCount(),
  "sources of a wing": () => reader.sources("w1"),
  "vectors by row": () => reader.vectorsByRow([1, 2]),
  "the backlog of texts": () => reader.pendingTexts(0, 100),
  "the notes in the backlog": () => reader.pendingNotes(16),
  "the counts of the status": () => reader.embeddingCounts(),
  "the outbox": () => reader.outbox.entries(100),
  "the lag of the outbox": () => reader.outbox.lag(),
};

test.each(Object.keys(QUICK))("%s is read from an index", (name) => {
  expect(plansOf(QUICK[name] as () => unknown).filter(isDear)).toEqual([]);
});

/** Reads that scan all drawers by design: sync checks every source. */
const LINEAR: Readonly<Record<string, () => unknown>> = {
  "groups of sources": () => reader.sourceGroups(undefined),
};

test.each(Object.keys(LINEAR))("%s scans the drawers once", (name) => {
  expect(plansOf(LINEAR[name] as () => unknown).filter(isDear)).toHaveLength(1);
});

test("indexing the words of one source needs no scan, so thousands of new sources do not delay the writes", () => {
  const ledger = new Database(file, { readonly: true });
  const tables = { derived: {}, putStatic: () => undefined, putForms: () => false };
  const plans = plansOf(() => new Maintenance(ledger, (work) => work(), tables));
  ledger.close();
  const ofSources = plans.filter((plan) => plan.includes("FROM drawer WHERE source_file = ?"));
  expect(ofSources).toHaveLength(2);
  expect(ofSources.filter(isDear)).toEqual([]);
});

test("a time window is read only from the index of times, unless the wing or room is small compared with the palace", () => {
  const planOf = (filter: DrawerFilter): string =>
    plansOf(() => reader.listDrawers(filter, 20, 0)).find((plan) => plan.includes("json_group_array")) ?? "";
  expect(planOf({ since: "2026-01-05" })).toContain("USING COVERING INDEX drawer_said");
  expect(planOf({ since: "2026-01-05", wing: "w1" })).toContain("USING COVERING INDEX drawer_said");
  const smallest = reader.places().toSorted((a, b) => a.drawers - b.drawers)[0];
  const { wing = "", room = "" } = smallest ?? {};
  expect(planOf({ since: "2026-01-01", wing, room })).toContain("USING INDEX drawer_place");
});

test("a page reads only the drawers that it shows, however far down it is", () => {
  const whole = plansOf(() => reader.listDrawers({}, 5, DRAWERS / 2)).filter((plan) => plan.includes("SELECT *"));
  expect(whole).toHaveLength(1);
  expect(whole[0]).toContain("SEARCH drawer USING INTEGER PRIMARY KEY");
});

test("a list with each split drawer as one entry scans only covering indexes, never the drawer table", () => {
  const filters: DrawerFilter[] = [{}, { wing: "w1" }, { room: "r1" }, { wing: "w1", room: "r1" }];
  for (const filter of filters) {
    const plans = plansOf(() => [reader.listLogical(filter, 5, 40), reader.listNewest(filter, 5, 40)]);
    expect(plans.filter((plan) => /SCAN drawer(?! USING COVERING INDEX)/.test(plan))).toEqual([]);
  }
});
