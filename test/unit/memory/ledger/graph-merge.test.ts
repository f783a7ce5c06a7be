/** Tests the counts of changes when rows of other programs are merged into the ledger's graph. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Finding } from "../../../../src/memory/ledger/graph-row.ts";
import { type LedgerDatabase, openForWriting } from "../../../../src/memory/ledger/open.ts";
import { GraphMerge } from "../../../../src/memory/ledger/tables/graph-merge.ts";

const BOB = { kind: "entity", id: "bob", body: '["Bob","person","{}","2025-01-01"]' } as const;
const ROAD = { kind: "tunnel", id: "road", body: '{"id":"road"}' } as const;

let folder: string;
let database: LedgerDatabase;
let merge: GraphMerge;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merge-"));
  database = openForWriting(join(folder, "ledger.sqlite3"));
  merge = new GraphMerge(database, (work) => database.transaction(work)());
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

const adopt = (finding: Partial<Finding>) => merge.adopt({ rows: [], missing: [], deleted: [], ...finding });

test("the ledger adopts a missing row from MemPalace's file once", () => {
  expect(adopt({ rows: [BOB] })).toEqual({ taken: 1, relisted: 0, removed: 0 });
  expect(adopt({ rows: [BOB] })).toEqual({ taken: 0, relisted: 0, removed: 0 });
});

test("a row that MemPalace's file has lost is listed once for sending again", () => {
  adopt({ rows: [BOB] });
  expect(adopt({ missing: [BOB] })).toEqual({ taken: 0, relisted: 1, removed: 0 });
  expect(adopt({ missing: [BOB] })).toEqual({ taken: 0, relisted: 0, removed: 0 });
});

test("a link that another program deleted from MemPalace's file counts as removed once", () => {
  adopt({ rows: [ROAD] });
  expect(adopt({ deleted: [ROAD] })).toEqual({ taken: 0, relisted: 0, removed: 1 });
  expect(adopt({ deleted: [ROAD] })).toEqual({ taken: 0, relisted: 0, removed: 0 });
});
