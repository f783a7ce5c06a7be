/** Tests the coordination log's file: a deleted write-ahead log, older files, its clock, its name, and how long keys are kept. */
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyToLog, logRefusal } from "../../../../src/mempalace/events/log-tools.ts";
import { HybridClock } from "../../../../src/mempalace/logstream/clock.ts";
import { LogFile } from "../../../../src/mempalace/logstream/log-file.ts";
import { readPeers, readPublished } from "../../../../src/mempalace/logstream/mesh-files.ts";
import { replicaId } from "../../../../src/mempalace/logstream/replica.ts";
import { LogRows } from "../../../../src/mempalace/logstream/rows.ts";
import { LogWriter } from "../../../../src/mempalace/logstream/writer.ts";
import type { WriteCall, WriteOutcome } from "../../../../src/memory/port/ledger.ts";

let palaceDir: string;
beforeEach(() => {
  palaceDir = mkdtempSync(join(tmpdir(), "log-"));
  writeFileSync(join(palaceDir, "ledger.sqlite3"), "");
});
afterEach(() => rmSync(palaceDir, { recursive: true }));

const DAY_MS = 86_400_000;

function openLog(keptMs = DAY_MS): { file: LogFile; rows: LogRows; writer: LogWriter } {
  const file = new LogFile({ palaceDir, ledgerFile: join(palaceDir, "ledger.sqlite3") });
  let rows: LogRows | undefined;
  const database = file.open((opened) => (rows = new LogRows(opened, () => file.replicaId(), new HybridClock())));
  const tx = rows as LogRows;
  const options = { apply: applyToLog, refusalOf: logRefusal, keptMs };
  return { file, rows: tx, writer: new LogWriter({ database, file: file.file, tx, ...options }) };
}

const write = (key: string, method: string, params: Record<string, unknown>): WriteCall => ({
  ...{ key, isRepeatable: true, method, params, requestId: "", atMs: Date.UTC(2026, 0, 2, 3, 4, 5) },
  peer: { agent: "a", door: "unix", uid: 0, pid: 1 },
});
const append = (key: string, more: Record<string, unknown> = {}): WriteCall =>
  write(key, "event_append", { type: "t", stream: "s", room: "r", from_agent: "a", ...more });
const values = (outcomes: readonly WriteOutcome[]): unknown[] =>
  outcomes.map(({ outcome }) => (outcome.ok ? outcome.value : outcome.error));

test("SQLite syncs each commit of the coordination log before the answer", () => {
  const { file } = openLog();
  const database = file.open(() => {});
  expect(database.pragma("synchronous", { simple: true })).toBe(2);
  expect(database.pragma("journal_mode", { simple: true })).toBe("wal");
  file.close();
});

test("a coordination log without topics and origins is migrated when it is opened", () => {
  const old = new Database(join(palaceDir, "logstream.sqlite3"));
  old.exec(`CREATE TABLE events (id TEXT PRIMARY KEY, type TEXT NOT NULL, stream TEXT NOT NULL, room TEXT NOT NULL,
      from_agent TEXT NOT NULL, to_agent TEXT, correlation_id TEXT, branch TEXT, base_commit TEXT, status TEXT,
      body TEXT NOT NULL DEFAULT '', created_at TEXT NOT NULL, metadata_json TEXT NOT NULL DEFAULT '{}');
    INSERT INTO events (id, type, stream, room, from_agent, created_at) VALUES ('evt_old', 't', 's', 'r', 'a', '2025-01-01T00:00:00Z')`);
  old.close();
  const { file, rows, writer } = openLog();
  const own = file.replicaId();
  const hlc = `1735689600000-000001-${own}`;
  expect(rows.event("evt_old")).toMatchObject({ topic: null, origin_replica: own, origin_seq: 1, hlc });
  expect(values(writer.commit([append("k")]))).toMatchObject([{ event: { seq: 2, origin_seq: 2 } }]);
  expect(rows.versionVector()).toEqual({ [own]: 2 });
  file.close();
});

test("a refused call does not affect the other calls that are written in its group", () => {
  const { file, rows, writer } = openLog();
  const patch = { content: "x\n", from_agent: "a", stream: "s", body: "n\0l" };
  const group = [
    append("k1"),
    write("k2", "patch_submit", patch),
    append("k3", { artifact_ids: ["art_x"] }),
    append("k4"),
  ];
  const answers = values(writer.commit(group));
  expect(answers).toMatchObject([{ success: true }, { success: false }, { success: false }, { success: true }]);
  expect(rows.lastSeq()).toBe(2);
  const database = new Database(file.file, { readonly: true });
  expect(database.prepare("SELECT count(*) FROM artifacts").pluck().get()).toBe(0);
  database.close();
  expect(values(writer.commit(group))).toEqual(answers);
  expect(rows.lastSeq()).toBe(2);
  file.close();
});

test("the answer to an append has the event's artifacts in the given order, and a later read has them in the order of their ids", () => {
  const { file, rows, writer } = openLog();
  const put = (key: string): WriteCall => write(key, "artifact_put", { kind: "note", content: key, created_by: "a" });
  const ids = (values(writer.commit([put("a1"), put("a2")])) as { artifact: { id: string } }[]).map(
    ({ artifact }) => artifact.id,
  );
  const given = ids.toSorted().toReversed();
  const [first] = values(writer.commit([append("k", { artifact_ids: given })])) as { event: { id: string } }[];
  expect(first).toMatchObject({ event: { artifact_ids: given } });
  expect(values(writer.commit([append("k", { artifact_ids: given })]))).toEqual([first]);
  expect(rows.event(first?.event.id ?? "")?.artifact_ids).toEqual(ids.toSorted());
  file.close();
});

const bodiesIn = (file: string): unknown[] => {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare("SELECT body FROM events ORDER BY rowid").pluck().all();
  } finally {
    database.close();
  }
};

test("the coordination log refuses a commit after its write-ahead log was deleted, and saves the content", () => {
  const { file, writer } = openLog();
  writer.commit([append("k1", { body: "b1" })]);
  rmSync(`${file.file}-wal`);
  let isCommitted = false;
  const commit = (): void => void (isCommitted = true);
  expect(() => file.guard(commit)).toThrow(expect.objectContaining({ code: "PALACE_GONE" }));
  expect(() => file.assertPresent()).toThrow(`${file.file}-wal vanished`);
  expect(isCommitted).toBe(false);
  rmSync(`${file.file}-shm`);
  expect(bodiesIn(file.file)).toEqual(["b1"]);
  file.close();
});

test("if the write-ahead log is deleted during a commit, the coordination log saves the commit before the answer", () => {
  const { file, writer } = openLog();
  const [answer] = values(
    file.guard(() => {
      const outcomes = writer.commit([append("k1", { body: "b1" })]);
      rmSync(`${file.file}-wal`);
      return outcomes;
    }),
  );
  expect(answer).toMatchObject({ success: true });
  rmSync(`${file.file}-shm`);
  expect(bodiesIn(file.file)).toEqual(["b1"]);
  file.close();
});

test("closing the coordination log saves a deleted write-ahead log while another process has the file open", () => {
  const { file, writer } = openLog();
  writer.commit([append("k1", { body: "b1" })]);
  const other = new Database(file.file);
  expect(other.prepare("SELECT count(*) FROM events").pluck().get()).toBe(1);
  rmSync(`${file.file}-wal`);
  file.close();
  copyFileSync(file.file, `${file.file}.copy`);
  expect(bodiesIn(`${file.file}.copy`)).toEqual(["b1"]);
  other.close();
});

test("a replaced file of the coordination log is opened again", () => {
  const { file, writer } = openLog();
  writer.commit([append("k1", { body: "b1" })]);
  for (const suffix of ["", "-wal", "-shm"]) renameSync(file.file + suffix, `${file.file}.away${suffix}`);
  expect(() => file.assertPresent()).not.toThrow();
  file.open(() => {});
  expect(file.guard(() => bodiesIn(file.file))).toEqual([]);
  file.close();
});

test("later writes to the coordination log delete expired keys", () => {
  const { file, writer } = openLog(-1);
  writer.commit([append("k1")]);
  writer.commit([append("k2")]);
  const database = new Database(file.file, { readonly: true });
  expect(database.prepare("SELECT count(*) FROM palace_devbox_writes").pluck().get()).toBe(0);
  database.close();
  file.close();
});

test("the time stamps of events rise even if the wall clock stops or goes back", () => {
  const clock = new HybridClock();
  const stamps = [
    clock.next("r", null, 1_000),
    clock.next("r", null, 1_000),
    clock.next("r", null, 400),
    clock.next("r", "0000000050000-00000a-other", 2_000),
    clock.next("r", "9999999999999-000000-other", 2_001),
    clock.next("r", "no stamp", 60_000),
  ];
  expect(stamps).toEqual(stamps.toSorted());
  expect(stamps.map((stamp) => stamp.slice(0, 20))).toEqual([
    ...["0000000001000-000000", "0000000001000-000001", "0000000001000-000002", "0000000050000-00000b"],
    ...["0000000050000-00000c", "0000000060000-000000"],
  ]);
});

test("a coordination log keeps its replica id, and a damaged replica.json is refused", () => {
  const file = join(palaceDir, "replica.json");
  const own = replicaId(palaceDir);
  expect(own).toMatch(/^rep_[0-9a-f]{32}$/);
  expect(replicaId(palaceDir)).toBe(own);
  writeFileSync(file, '{"replica_id": "rep_0123456789ab"}');
  expect(replicaId(palaceDir)).toBe("rep_0123456789ab");
  for (const damaged of ["", "{}", '{"replica_id": "x"}']) {
    writeFileSync(file, damaged);
    expect(() => replicaId(palaceDir)).toThrow("has no replica id");
    expect(readFileSync(file, "utf8")).toBe(damaged);
  }
});

test("the coordination log lists its peers without their tokens", () => {
  writeFileSync(
    join(palaceDir, "peers.json"),
    '{"peers": [{"name": "n", "url": "https://n", "token": "secret"}, {"url": "https://m"}]}',
  );
  expect(readPeers(palaceDir)).toEqual([
    { name: "n", url: "https://n" },
    { name: "https://m", url: "https://m" },
  ]);
  writeFileSync(join(palaceDir, "peers.json"), '{"peers": [{"name": "n"}]}');
  expect(readPeers(palaceDir)).toEqual([]);
  expect(readPublished(palaceDir, palaceDir)).toEqual({
    peers: {},
    profiles: {},
    writtenAt: null,
    isWriterAlive: false,
  });
});
