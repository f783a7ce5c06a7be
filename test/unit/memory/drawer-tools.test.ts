/** Tests of the drawer tools that MemPalace 3.11 added, on a real ledger: ids of many rows, lists of ids, sources, checkpoints. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { getDrawers } from "../../../src/memory/drawer/batch.ts";
import { drawerPayload, findLogical } from "../../../src/memory/drawer/logical.ts";
import { validWindow } from "../../../src/memory/text/window.ts";
import { applyWrite } from "../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../src/memory/ledger/write/group-commit.ts";

type Answer = Record<string, unknown> & { drawer_id: string; chunk_ids: string[] };

let folder: string, writer: LedgerWriter, reader: SqliteLedgerReader;
let count = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
  reader = new SqliteLedgerReader(join(folder, "ledger.sqlite3"));
});

afterEach(() => {
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true });
});

function write(method: string, params: Record<string, unknown>, findings?: unknown): Answer {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${++count}`, isRepeatable: false, method, params, peer, requestId: "r", atMs: Date.now() };
  const [done] = writer.commit([{ ...call, ...(findings !== undefined && { findings }) }]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value as Answer;
}

const file = (content: string, more: Record<string, unknown> = {}): Answer =>
  write("add_drawer", { wing: "w", room: "r", content, ...more });
const LONG = "äbc ".repeat(500);

test("a long text has one id for all its slices: get joins the slices, update cuts the new text, delete removes every slice", () => {
  const { drawer_id: id, chunk_ids: slices } = file(LONG);
  expect(slices).toHaveLength(3);
  const found = findLogical(reader, id);
  expect(found && drawerPayload(found)).toMatchObject({ content: LONG, chunks: 3, chunk_ids: slices });

  expect(write("update_drawer", { drawer_id: id, room: "moved" })).toMatchObject({ room: "moved", chunk_ids: slices });
  expect(reader.listDrawers({ wing: "w", room: "moved" }, 9, 0).drawers.map((row) => row.id)).toEqual(slices);
  expect(write("update_drawer", { drawer_id: id, content: "short" })).toMatchObject({ chunk_ids: [slices[0]] });
  expect(reader.slicesOf(id).map((row) => row.text)).toEqual(["short"]);

  expect(write("delete_drawer", { drawer_id: id })).toMatchObject({ deleted_ids: [slices[0]], chunks_deleted: 1 });
  expect(reader.drawerCount()).toBe(0);
});

test("a short drawer that outgrows one row is split under its id, and its slices are not found under a part of the id", () => {
  const { drawer_id: id } = file("short");
  write("add_drawer", { wing: "w", room: "r", content: "neighbour" });
  expect(write("update_drawer", { drawer_id: id, content: LONG })).toMatchObject({ drawer_id: id, chunks: 3 });
  expect(reader.findDrawer(id)).toBeUndefined();
  expect(
    reader
      .slicesOf(id)
      .map((row) => row.text)
      .join(""),
  ).toBe(LONG);
  expect(reader.slicesOf(id.slice(0, -1))).toEqual([]);
  expect(reader.drawerCount()).toBe(4);
});

test("a list of ids gets one answer per id, in order, with an error for each missing id; an invalid list is refused", async () => {
  const [a, b] = [file("a").drawer_id, file(LONG).drawer_id];
  expect(await getDrawers(reader, { drawer_ids: [b, "nope", a] })).toMatchObject({
    results: [{ content: LONG }, { drawer_id: "nope", error: "Drawer not found: nope" }, { content: "a" }],
    count: 3,
    errors: 1,
  });
  for (const drawer_ids of [[], "x", null, Array.from({ length: 501 }, () => a)])
    expect(write("delete_drawers", { drawer_ids })).toEqual({ error: expect.stringContaining("drawer_ids") as string });
  expect(write("delete_drawers", { drawer_ids: [a, "nope", b] })).toMatchObject({ count: 3, deleted: 2, errors: 1 });
  expect(reader.drawerCount()).toBe(0);
});

test("get_drawers fetches a long list of ids in parts, and other requests run between the parts", async () => {
  const ids = Array.from({ length: 30 }, (_, index) => file(`${index} ${"harbour ".repeat(11_000)}`).drawer_id);
  let turns = 0;
  const others = (): void => {
    turns += 1;
    next = setImmediate(others);
  };
  let next = setImmediate(others);
  expect(await getDrawers(reader, { drawer_ids: ids })).toMatchObject({ count: 30, errors: 0 });
  clearImmediate(next);
  expect(turns).toBeGreaterThan(1);
});

test("delete_by_source only previews by default; with `dry_run: false` it deletes the source's drawers in every wing", () => {
  file("one", { source_file: "/s.md" });
  file("two", { wing: "v", source_file: "/s.md" });
  file("other", { source_file: "/s.md.bak" });
  const sample = [
    { wing: "w", room: "r" },
    { wing: "v", room: "r" },
  ];
  expect(write("delete_by_source", { source_file: "/s.md" })).toMatchObject({ dry_run: true, match_count: 2, sample });
  expect(reader.drawerCount()).toBe(3);
  expect(write("delete_by_source", { source_file: "/s.md", dry_run: false })).toMatchObject({ deleted: 2 });
  expect(write("delete_by_source", { source_file: "/s.md", dry_run: false })).toMatchObject({ deleted: 0 });
  expect(reader.drawerCount()).toBe(1);
});

test("the preview of delete_by_source lists the wing and room of at most five drawers, as MemPalace does", () => {
  for (let at = 0; at < 6; at++) file(`text ${at}`, { room: `r${at}`, source_file: "/s.md" });
  const { match_count: count, sample } = write("delete_by_source", { source_file: "/s.md" });
  expect([count, sample]).toEqual([6, [0, 1, 2, 3, 4].map((at) => ({ wing: "w", room: `r${at}` }))]);
});

test("a checkpoint files new items, reports each duplicate and each error, and writes the diary", () => {
  const stored = file("known").drawer_id;
  const item = (content: unknown): object => ({ wing: "w", room: "r", content });
  const items = [item("known"), item("new"), item("new again"), item(7), "no item", { ...item("x"), wing: "a/b" }];
  const findings = {
    0: { stored: [{ id: stored, similarity: 1 }], earlier: [] },
    2: { stored: [], earlier: [{ item: 1, slice: 0, similarity: 0.95 }] },
  };
  const diary = { agent_name: "Tester", entry: "dear diary", wing: "a/b" };
  expect(write("checkpoint", { items, diary }, findings)).toMatchObject({
    added: [{ success: true, wing: "w", chunks: 1 }],
    duplicates: [
      { room: "r", matches: [{ id: stored, similarity: 1, content: "known" }] },
      { room: "r", matches: [{ similarity: 0.95, content: "new" }] },
    ],
    errors: [
      { error: "wing, room, content must be non-empty strings" },
      { item: "no item", error: "item must be an object" },
      { success: false, error: "wing contains invalid path characters" },
    ],
    // The tool files the items even if the diary's wing is invalid.
    diary: { success: false, error: "name contains invalid path characters" },
  });
  expect(reader.drawerCount()).toBe(2);
  const again = write("checkpoint", { items: [item("known")], diary: { ...diary, wing: "" } });
  expect(again).toMatchObject({ added: [{ reason: "already_exists" }], diary: { success: true, agent: "tester" } });
});

test("a repeated checkpoint is done once, even if its second search for duplicates finds something else", () => {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const params = { items: [{ wing: "w", room: "r", content: "once" }], diary: { agent_name: "a", entry: "e" } };
  const call = {
    key: "same",
    isRepeatable: true,
    method: "checkpoint",
    params,
    peer,
    requestId: "r",
    atMs: Date.now(),
  };
  const [first] = writer.commit([call]).outcomes;
  const likeItself = {
    0: { stored: reader.listDrawers({}, 1, 0).drawers.map(({ id }) => ({ id, similarity: 1 })), earlier: [] },
  };
  const [again] = writer.commit([{ ...call, findings: likeItself }]).outcomes;
  expect(again).toEqual({ ...first, replayed: true });
  expect(reader.drawerCount()).toBe(2);
});

test("a `since` or `before` time with an offset is converted to the broker's local time, and a reversed window is refused", () => {
  vi.stubEnv("TZ", "America/New_York");
  expect(validWindow({ since: "2026-04-01", before: " 2026-04-01T09:30:00.5+02:00 " })).toEqual({
    since: "2026-04-01",
    before: "2026-04-01T03:30:00.500000",
  });
  expect(validWindow({ since: "2026-01-01T02:00:00.123456Z", before: "2026-04-01T04:00Z" })).toEqual({
    since: "2025-12-31T21:00:00.123456",
    before: "2026-04-01",
  });
  // MemPalace accepts a Z after a date, although a date has no offset.
  expect(validWindow({ since: "2026-04-01Z" })).toEqual({ since: "2026-04-01" });
  expect(validWindow({ since: "", before: null })).toEqual({});
  expect(() => validWindow({ since: "2026-02-30" })).toThrow(
    "since must be an ISO date string (e.g. '2026-04-01' or '2026-04-01T09:30:00'), got '2026-02-30'",
  );
  expect(() => validWindow({ since: "2026-01-02", before: "2026-01-02T00:00" })).toThrow(
    "since ('2026-01-02') must be earlier than before ('2026-01-02T00:00')",
  );
});
