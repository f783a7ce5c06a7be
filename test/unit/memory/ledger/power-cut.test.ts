/** Simulates a power cut at every moment of the ledger's life. */
import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openForWriting } from "../../../../src/memory/ledger/open.ts";
import { type ApplyWrite, LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import type { WriteCall } from "../../../../src/memory/port/ledger.ts";
import { PowerCut } from "../../../helpers/power-cut.ts";

/** File with the write-ahead log's index, which SQLite can rebuild. */
const INDEX = /-shm$/;
const NAME = "ledger.sqlite3";

let root: string;
beforeEach(() => (root = realpathSync(mkdtempSync(join(tmpdir(), "ledger-power-")))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

const apply: ApplyWrite = (tx, { params }) => {
  const id = String(params["id"]);
  tx.insertDrawers([{ id, text: `words of ${id}`, metadata: { wing: "w", room: "r" } }]);
  return { filed: id };
};

function call(key: string): WriteCall {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  return { key, isRepeatable: true, method: "test.file", params: { id: key }, peer, requestId: key, atMs: 1 };
}

test("each group of writes syncs the log once before its acknowledgement and survives any power cut", () => {
  const acknowledged: string[] = [];
  const writer = new LedgerWriter(join(root, NAME), apply);
  let syncs: number;
  {
    using disk = new PowerCut(root, {
      keptBySqlite: new RegExp(`${NAME}$`),
      volatile: INDEX,
      look: (folder) => {
        const file = join(folder, NAME);
        const left = new Database(file);
        try {
          expect(left.pragma("integrity_check", { simple: true })).toBe("ok");
          const keys = left.prepare("SELECT key FROM journal").pluck().all();
          const ids = left.prepare("SELECT id FROM drawer").pluck().all();
          expect(acknowledged.filter((key) => !keys.includes(key) || !ids.includes(key))).toEqual([]);
          // A group is there completely or not at all.
          for (const first of ids.filter((id) => String(id).endsWith(".0")))
            expect(ids).toContain(String(first).replace(/0$/, "1"));
        } finally {
          left.close();
        }
      },
    });
    for (let group = 0; group < 5; group++) {
      const calls = [call(`${group}.0`), call(`${group}.1`)];
      const { outcomes } = writer.commit(calls);
      for (const [at, { outcome }] of outcomes.entries()) if (outcome.ok) acknowledged.push(calls[at]?.key ?? "");
      disk.cut(`after group ${group} was acknowledged`);
      // This write is not synced. A power cut may lose it, but no other write.
      writer.storeVectors([{ row: group + 1, textVersion: 1, vector: new Float32Array(384).fill(0.05) }], "model");
      writer.putMeta("test", String(group));
    }
    disk.cut();
    ({ syncs } = disk);
  }
  writer.close();
  expect(acknowledged.length).toBe(10);
  expect(syncs).toBe(5);
});

test("after a failed sync the writer acknowledges no write, because a later sync proves nothing", () => {
  const writer = new LedgerWriter(join(root, NAME), apply);
  {
    using disk = new PowerCut(root, { look: () => {}, parts: 0 });
    disk.failure = Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
    const refusal = { outcome: { ok: false, error: { data: { code: "STORE_UNAVAILABLE" } } } };
    expect(writer.commit([call("a")]).outcomes).toMatchObject([refusal]);
    expect(writer.commit([call("b")]).outcomes).toMatchObject([refusal]);
    expect(disk.syncs).toBe(1);
  }
  writer.close();
});

test("after a power cut a new ledger is missing or complete, and is never missing once it was opened", () => {
  const file = join(root, "new/home", NAME);
  let isOpened = false;
  {
    using disk = new PowerCut(root, {
      volatile: INDEX,
      look: (folder) => {
        const home = join(folder, "new/home");
        if (isOpened) expect(readdirSync(home)).toContain(NAME);
        openForWriting(join(home, NAME)).close();
      },
    });
    const database = openForWriting(file);
    isOpened = true;
    disk.cut("after it was opened");
    // NORMAL is safe with a WAL: SQLite syncs the log before copying it into the ledger, and the ledger before overwriting the log.
    expect(database.pragma("synchronous", { simple: true })).toBe(1);
    expect(database.pragma("journal_mode", { simple: true })).toBe("wal");
    database.close();
    expect(disk.syncs).toBeGreaterThan(2);
  }
});
