/** Tests the parts of engine `command` that need no child process. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { rollBackJournals } from "../../../src/broker/child/journal.ts";
import { Replays } from "../../../src/broker/child/replays.ts";
import { ToolBook } from "../../../src/broker/child/tools.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { PalaceError } from "../../../src/base/errors.ts";

test("a tool counts as a read if its annotations say so or, without annotations, if it is a read tool of old MemPalace", () => {
  const book = new ToolBook();
  const isWrite = (name: unknown): boolean => book.isWrite("tools/call", { name });
  expect(isWrite("mempalace_search")).toBe(true);
  book.replace([
    { name: "reads", annotations: { readOnlyHint: true } },
    { name: "says not", annotations: { readOnlyHint: false } },
    { name: "says nothing of it", annotations: {} },
    { name: "lies", annotations: { readOnlyHint: "true" } },
    { name: "mempalace_search" },
    { name: "mempalace_add_drawer" },
    { name: "mempalace_status", annotations: {} },
  ]);
  const names = ["reads", "says not", "says nothing of it", "lies", "mempalace_search", "mempalace_add_drawer"];
  expect(names.map(isWrite)).toEqual([false, true, true, true, false, true]);
  expect([isWrite("mempalace_status"), isWrite("unknown"), isWrite(undefined)]).toEqual([true, true, true]);
  expect(["tools/list", "resources/read", "logging/setLevel", "x/y"].map((method) => book.isWrite(method, {}))).toEqual(
    [false, false, true, true],
  );
});

test("the broker remembers a child's results and lost calls by key, and forgets refusals, failures and old keys", async () => {
  const replays = new Replays<string>();
  const doubt = new PalaceError("ENGINE_CALL_LOST", "gone", "");
  const refusal = new PalaceError("BROKER_SHUTTING_DOWN", "no", "");
  replays.keep("done", { name: "a" }, "call", Promise.resolve({ content: [] }));
  replays.keep("doubt", { name: "a" }, "call", Promise.reject(doubt));
  replays.keep("refused", { name: "a" }, "call", Promise.reject(refusal));
  replays.keep("failed", { name: "a" }, "call", Promise.resolve({ isError: true }));
  await new Promise(setImmediate);
  expect(await replays.find("done", { name: "a", _meta: { any: 1 } })?.outcome).toEqual({ content: [] });
  await expect(replays.find("doubt", { name: "a" })?.outcome).rejects.toBe(doubt);
  expect(["refused", "failed"].map((key) => replays.find(key, { name: "a" }))).toEqual([undefined, undefined]);
  expect(() => replays.find("done", { name: "b" })).toThrow(expect.objectContaining({ code: "PROTOCOL_KEY_REUSED" }));
  for (let index = 0; index < 5000; index++) replays.keep(`key ${index}`, { name: "a" }, "call", Promise.resolve({}));
  await new Promise(setImmediate);
  expect(replays.find("done", { name: "a" })).toBeUndefined();
  expect(replays.find("key 4999", { name: "a" })).toBeDefined();
  expect(replays.find("key 900", { name: "a" })).toBeUndefined();
});

test("the broker rolls back a killed writer's transaction so that a reader can open the database", async () => {
  const folder = mkdtempSync(join(tmpdir(), "palace-journal-"));
  const file = join(folder, "chroma.sqlite3");
  try {
    // With a small cache SQLite writes pages to the file long before the commit, so a kill leaves half a transaction.
    const script = `
      const db = new (require(process.argv[1]))(process.argv[2]);
      db.exec("PRAGMA cache_size = 5; CREATE TABLE t (x); INSERT INTO t VALUES ('kept'); BEGIN");
      for (let i = 0; i < 500; i++) db.prepare("INSERT INTO t VALUES (?)").run("x".repeat(2000));
      process.kill(process.pid, "SIGKILL");`;
    const sqlite = createRequire(import.meta.url).resolve("better-sqlite3");
    expect(spawnSync(process.execPath, ["-e", script, sqlite, file]).signal).toBe("SIGKILL");
    const count = (): unknown => {
      const database = new Database(file, { readonly: true });
      try {
        return database.prepare("SELECT count(*) FROM t").pluck().get();
      } finally {
        database.close();
      }
    };
    expect(count).toThrow(/readonly/);
    await rollBackJournals(folder, SILENT_LOG);
    expect(count()).toBe(1);
    expect(existsSync(`${file}-journal`)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
