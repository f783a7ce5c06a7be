/** An adopted drawer without a vector counted as our unsent change, so later changes by others were skipped and overwritten. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { openForReading } from "../../src/memory/ledger/open.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import type { Metadata } from "../../src/memory/port/drawer.ts";
import type { AdoptionBatch } from "../../src/memory/port/public-palace.ts";
import { ForeignRows } from "../../src/mempalace/adopt/foreign-rows.ts";
import { openChroma, readCollections, readHead } from "../../src/mempalace/format/chroma-file.ts";
import { ChromaPalace } from "../helpers/chroma-palace.ts";

let folder: string;
let palaceDir: string;
let palace: ChromaPalace;
let writer: LedgerWriter;
let reader: SqliteLedgerReader;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "palace-adopted-"));
  palaceDir = join(folder, "palace");
  mkdirSync(palaceDir);
  palace = new ChromaPalace(palaceDir);
  writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
  reader = new SqliteLedgerReader(join(folder, "ledger.sqlite3"));
});
afterEach(() => {
  palace.close();
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true });
});

const write = (id: string, text: string, more: Metadata = {}): void =>
  palace.upsert([{ id, text, metadata: { wing: "w", room: "r", ...more }, vector: new Float32Array(8) }]);

/** Returns the rows that the reconciler would adopt if ledger and palace were last equal at the palace's sequence number `sinceSeq`. */
function look(sinceSeq: number): AdoptionBatch {
  const ledger = openForReading(join(folder, "ledger.sqlite3"));
  const database = openChroma(palaceDir, 1_000);
  const collection = database && readCollections(database)[0];
  if (database === undefined || collection === undefined) throw new Error("no palace");
  const horizon = { sinceSeq, untilSeq: readHead(database) };
  const foreign = new ForeignRows({ palace: database, palaceDir, collection, ledger, horizon });
  const batch = { model: undefined, rows: [] as AdoptionBatch["rows"][number][], removed: [] as string[] };
  for (let done = false; !done;) {
    const next = foreign.next();
    done = next.done;
    batch.rows.push(...next.rows);
    batch.removed.push(...next.removed);
  }
  foreign.close();
  database.close();
  ledger.close();
  return batch;
}

const adopt = (sinceSeq: number): number => writer.adopt(look(sinceSeq)).taken;
const textOf = (id: string): string | undefined => reader.findDrawer(id)?.text;
const listed = () => reader.outbox.entries(10).map(({ id, record }) => [id, record?.text]);

function embed(): void {
  const vector = new Float32Array(384).fill(0.05);
  const pending = reader.pendingTexts(0, 10).map(({ row, textVersion }) => ({ row, textVersion, vector }));
  writer.storeVectors(pending, "m");
}

function change(method: string, params: Record<string, unknown>): void {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const call = { key: method, isRepeatable: true, method, params, peer, requestId: "r", atMs: Date.now() };
  expect(writer.commit([call]).outcomes[0]?.outcome.ok).toBe(true);
}

it("another program's change to an adopted drawer without a vector is kept when our model makes the vector", () => {
  write("a", "as it was");
  write("b", "b, as it was");
  write("gone", "deleted later");
  expect(adopt(0)).toBe(3);
  expect(look(3)).toMatchObject({ rows: [], removed: [] });
  write("a", "changed by others");
  palace.remove(["gone"]);
  expect(adopt(3)).toBe(2);
  expect([textOf("a"), textOf("gone")]).toEqual(["changed by others", undefined]);
  expect(look(5)).toMatchObject({ rows: [], removed: [] });
  // Makes the vectors, as a model would. The drawers in the outbox are not sent yet.
  embed();
  expect(listed()).toEqual([
    ["a", "changed by others"],
    ["b", "b, as it was"],
  ]);
  write("a", "changed once more");
  write("b", "b, as it was", { room: "moved" });
  expect(adopt(5)).toBe(2);
  // The outbox lists `b`, because the palace lacks its vector. It does not list `a` until its new text has a vector.
  expect(listed()).toEqual([["b", "b, as it was"]]);
  expect(reader.findDrawer("b")?.room).toBe("moved");
  embed();
  expect(listed()).toEqual([
    ["b", "b, as it was"],
    ["a", "changed once more"],
  ]);
  expect(look(7)).toMatchObject({ rows: [], removed: [] });
});

it("our change or deletion of an adopted drawer wins over another program's change", () => {
  for (const id of ["a", "b", "c"]) write(id, `${id}, as it was`);
  expect(adopt(0)).toBe(3);
  change("update_drawer", { drawer_id: "a", content: "changed here" });
  change("delete_drawer", { drawer_id: "b" });
  write("a", "changed by others");
  write("b", "changed by others");
  expect(look(3)).toMatchObject({ rows: [], removed: [] });
  // The usual case: our drawer was sent before others changed it.
  embed();
  writer.outbox.done(reader.outbox.entries(10));
  write("a", "changed after us");
  expect(adopt(5)).toBe(2);
  expect(textOf("a")).toBe("changed after us");
});

it("the next adoption marks a drawer as adopted again if ledger and palace have the same text", () => {
  write("a", "as it was");
  expect(adopt(0)).toBe(1);
  writer.putMeta("adopted:a", "");
  expect(adopt(1)).toBe(0);
  expect(look(1)).toMatchObject({ rows: [] });
  write("a", "changed by others");
  expect(adopt(1)).toBe(1);
  expect(textOf("a")).toBe("changed by others");
});
