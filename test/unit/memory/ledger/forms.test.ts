/** Tests the index of other spellings of words (for example, `strasse`), which follows every change of a drawer. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { openLexicalIndex } from "../../../../src/memory/index/lexical/lexical-index.ts";
import { formsOf } from "../../../../src/memory/index/lexical/tokens.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import { createSearchPalace } from "../../../helpers/search-palace.ts";

const NOTE = "把max_connections改成200以后连接池稳定了。";
const WHOLE = "重启 Die Straße";
const RETENTION = { journalRetentionMs: 1e12, undoMs: 1e12, imagesBytes: 1e12 };
const MOMENT = { wallMs: 1, uptimeMs: 0, bootId: "" };

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forms-"));
  file = join(folder, "ledger.sqlite3");
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(writer: LedgerWriter, method: string, all: readonly Record<string, unknown>[]): void {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const more = { isRepeatable: false, method, peer, requestId: "r", atMs: 1 };
  const calls = all.map((params) => ({ key: `${method} ${JSON.stringify(params)}`, params, ...more }));
  for (const { outcome } of writer.commit(calls).outcomes) expect(outcome.ok).toBe(true);
}

function add(writer: LedgerWriter, contents: readonly string[], more: object = {}): void {
  write(
    writer,
    "add_drawer",
    contents.map((content) => ({ wing: "w", room: "r", content, ...more })),
  );
}

/** Creates a ledger of version 16 with 452 drawers. The last two have words with other spellings. */
function makeOld(): void {
  const old = new LedgerWriter(file, applyWrite);
  add(
    old,
    Array.from({ length: 450 }, (_, at) => `Note ${at} on the harbour.`),
  );
  add(old, [WHOLE, NOTE], { source_file: "/notes.md" });
  old.close();
  const ledger = new Database(file);
  ledger.exec("DROP TRIGGER form_gone; DROP TABLE form_fts; PRAGMA user_version = 16;");
  ledger.close();
}

function read<T>(sql: string): T[] {
  const ledger = new Database(file, { readonly: true });
  try {
    return ledger.prepare<[], T>(sql).pluck().all();
  } finally {
    ledger.close();
  }
}

const reached = (): string | undefined => read<string>("SELECT value FROM meta WHERE key = 'forms'")[0];
const rows = (): number[] => read<number>("SELECT id FROM form_fts_docsize ORDER BY id");

test("an older ledger opens at once; searches find its drawers from the start, and later by every spelling of their words", async () => {
  makeOld();
  const ids = read<string>("SELECT id FROM drawer ORDER BY row");
  let writer = new LedgerWriter(file, applyWrite, { formsOf });
  const index = openLexicalIndex({ ledgerFile: file });
  const found = async (query: string): Promise<number[]> =>
    (await index.candidates(query, {}, 10)).map(({ row }) => row).sort((a, b) => a - b);
  try {
    expect([rows(), reached()]).toEqual([[], undefined]);
    let steps = 0;
    for (let isMore = true; isMore; steps += 1) {
      expect(await found("重启")).toEqual([451]);
      expect(await found("Straße")).toEqual([451]);
      expect(await found("以后连接池稳定了")).toEqual(rows().includes(452) ? [452] : []);
      expect((await found("harbour")).length).toBe(10);
      if (steps === 1) {
        // A drawer that is filed meanwhile is indexed at once, before the older drawers.
        add(writer, ["备份完成"]);
        expect(await found("备份")).toEqual([453]);
      }
      isMore = writer.maintain(RETENTION, MOMENT);
      if (steps === 2) {
        // The next process continues where the last process stopped.
        const before = reached();
        writer.close();
        writer = new LedgerWriter(file, applyWrite, { formsOf });
        expect([before, reached()]).toEqual([before, before]);
        expect(before).toMatch(/^2:\d+$/);
      }
    }
    expect(steps).toBeGreaterThan(4);
    expect([rows(), reached()]).toEqual([[451, 452, 453], "2:done"]);
    expect(await found("max_connections")).toEqual([452]);
    expect(await found("strasse")).toEqual([451]);
    expect(await found("备")).toEqual([453]);
    expect(read<string>("SELECT id FROM drawer ORDER BY row").slice(0, ids.length)).toEqual(ids);
    expect(read("SELECT rowid FROM source_fts WHERE source_fts MATCH 'strasse'")).toHaveLength(1);
  } finally {
    await index.close();
    writer.close();
  }
});

test("after a kill inside a step the whole step is done again", async () => {
  makeOld();
  new LedgerWriter(file, applyWrite).close();
  const script = join(folder, "half.mjs");
  const source = (name: string): string => JSON.stringify(import.meta.resolve(`../../../../src/memory/${name}`));
  writeFileSync(
    script,
    `import Database from ${JSON.stringify(import.meta.resolve("better-sqlite3"))};
     const { FormBacklog } = await import(${source("ledger/write/form-backlog.ts")});
     const { LedgerTables } = await import(${source("ledger/tables/tables.ts")});
     const { formsOf } = await import(${source("index/lexical/tokens.ts")});
     const ledger = new Database(process.argv[2]);
     ledger.exec("PRAGMA cache_size = 10");
     let steps = 0;
     const group = (work) => {
       ledger.exec("BEGIN IMMEDIATE");
       work();
       steps += 1;
       if (steps === 3) { process.send("half"); setInterval(() => {}, 1000); return; }
       ledger.exec("COMMIT");
     };
     const backlog = new FormBacklog(ledger, group, new LedgerTables(ledger, { formsOf }));
     while (steps < 3) backlog.step();`,
  );
  const half = fork(script, [file], { execArgv: [] });
  await once(half, "message");
  half.kill("SIGKILL");
  await once(half, "exit");
  expect([rows(), reached()]).toEqual([[], "2:400"]);
  const writer = new LedgerWriter(file, applyWrite, { formsOf });
  while (writer.maintain(RETENTION, MOMENT));
  writer.close();
  expect([rows(), reached()]).toEqual([[451, 452], "2:done"]);
  expect(read("PRAGMA integrity_check")).toEqual(["ok"]);
});

test("after a drawer is changed or deleted, the index has no other spellings of its old words", async () => {
  await using palace = await createSearchPalace();
  const id = palace.file("数据库迁移定在周五");
  expect(await palace.texts("迁移", { mode: "lexical" })).toHaveLength(1);
  palace.write("update_drawer", { drawer_id: id, content: "支付接口" });
  expect(await palace.texts("迁移", { mode: "lexical" })).toEqual([]);
  expect(await palace.texts("接口", { mode: "lexical" })).toEqual(["支付接口"]);
  palace.write("update_drawer", { drawer_id: id, content: "Lunch is soup." });
  expect(await palace.texts("接口", { mode: "lexical" })).toEqual([]);
  palace.write("update_drawer", { drawer_id: id, content: "支付接口" });
  palace.write("delete_drawer", { drawer_id: id });
  expect(await palace.texts("接口", { mode: "lexical" })).toEqual([]);
});

test("a rewritten ledger has no word of a deleted drawer in any spelling; `palace repair` adds the other spellings again", () => {
  const writer = new LedgerWriter(file, applyWrite, { formsOf });
  try {
    add(writer, ["Größenwahn", NOTE]);
    while (writer.maintain(RETENTION, MOMENT));
    const before = rows();
    writer.reindex.words();
    expect([rows(), reached()]).toEqual([[], undefined]);
    while (writer.maintain(RETENTION, MOMENT));
    expect(rows()).toEqual(before);

    // `ssenwahn` is only in the other spelling `grossenwahn` of the drawer's word, not in any text.
    const isHeld = (): boolean => {
      expect(writer.eraser.cutLog()).toBe(true);
      return readFileSync(file).includes(Buffer.from("ssenwahn"));
    };
    expect(isHeld()).toBe(true);
    const [id = ""] = read<string>("SELECT id FROM drawer ORDER BY row");
    write(writer, "delete_drawer", [{ drawer_id: id }]);
    writer.eraser.rewrite();
    expect(isHeld()).toBe(false);
    expect(rows()).toEqual(before.slice(1));
  } finally {
    writer.close();
  }
});
