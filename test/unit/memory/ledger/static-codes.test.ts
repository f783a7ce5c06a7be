/** Every drawer has a static vector from its first write on, so a search without a model finds it by meaning. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { openLexicalIndex } from "../../../../src/memory/index/lexical/lexical-index.ts";
import { formsOf } from "../../../../src/memory/index/lexical/tokens.ts";
import { staticTable } from "../../../../src/memory/index/static/static-table.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import { createSearchPalace } from "../../../helpers/search-palace.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "static-"));
  file = join(folder, "ledger.sqlite3");
});
afterEach(() => rmSync(folder, { recursive: true }));

const KEY = "The spare key hangs behind the door.";
const ASKED = "where do we keep the extra key";
const OTHERS = [
  "Invoices are paid on the last Friday of a month.",
  "The printer in the hall is out of toner, as it always is.",
  "Deploys go out on Tuesdays, after the tests are green.",
];

test("a paraphrase is found at once after filing, without a model", async () => {
  await using palace = await createSearchPalace();
  for (const text of OTHERS) palace.file(text);
  palace.file("A second opener for the entrance hangs under the flowerpot.");
  expect((await palace.texts("extra key for the front door"))[0]).toContain("second opener");
});

test("a search finds a changed or moved drawer in its present state, and does not find a deleted drawer", async () => {
  await using palace = await createSearchPalace();
  for (const text of OTHERS) palace.file(text);
  const id = palace.file(KEY);
  expect((await palace.texts(ASKED))[0]).toBe(KEY);
  palace.write("update_drawer", { drawer_id: id, wing: "house" });
  expect(await palace.texts(ASKED, { wing: "house" })).toEqual([KEY]);
  expect(await palace.texts(ASKED, { wing: "w" })).not.toContain(KEY);
  palace.write("update_drawer", { drawer_id: id, content: "Lunch is soup." });
  expect((await palace.texts("what do we eat at noon"))[0]).toBe("Lunch is soup.");
  palace.write("delete_drawer", { drawer_id: id });
  expect(await palace.texts("what do we eat at noon")).not.toContain("Lunch is soup.");
});

const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };

function change(writer: LedgerWriter, id: string, content: string): void {
  const call = {
    key: `change-${id}`,
    isRepeatable: false,
    method: "update_drawer",
    peer,
    requestId: "r",
    atMs: Date.now(),
  };
  expect(writer.commit([{ ...call, params: { drawer_id: id, content } }]).outcomes[0]?.outcome.ok).toBe(true);
}

function add(writer: LedgerWriter, texts: readonly string[]): void {
  const calls = texts.map((content, at) => ({
    ...{ key: `k${at}-${content}`, isRepeatable: false, method: "add_drawer", peer, requestId: "r", atMs: Date.now() },
    params: { wing: "w", room: "r", content },
  }));
  for (const { outcome } of writer.commit(calls).outcomes) expect(outcome.ok).toBe(true);
}

const codes = (): number => {
  const ledger = new Database(file, { readonly: true });
  const count = ledger.prepare<[], number>("SELECT count(*) FROM static_code").pluck().get() ?? 0;
  ledger.close();
  return count;
};

test("a search finds drawers of an older ledger before they have static vectors, and the idle writer adds these vectors", async () => {
  const old = new LedgerWriter(file, applyWrite);
  const many = Array.from({ length: 450 }, (_, at) => `Note ${at} on the ${["harbour", "kitchen", "office"][at % 3]}.`);
  add(old, [...many, KEY]);
  old.close();
  const ledger = new Database(file);
  ledger.exec("DROP TRIGGER static_gone; DROP TABLE static_code; PRAGMA user_version = 15;");
  ledger.close();

  const writer = new LedgerWriter(file, applyWrite, { staticCode: staticTable().codeOf, formsOf });
  const index = openLexicalIndex({ ledgerFile: file });
  const found = async (): Promise<number> => (await index.retrieve(ASKED, {}, 20, false)).length;
  try {
    expect(codes()).toBe(0);
    expect(await found()).toBe(1);
    const retention = { journalRetentionMs: 1e12, undoMs: 1e12, imagesBytes: 1e12 };
    let steps = 0;
    while (writer.maintain(retention, { wallMs: Date.now(), uptimeMs: 0, bootId: "" })) {
      steps += 1;
      expect(await found()).toBeGreaterThan(0);
    }
    expect(steps).toBeGreaterThanOrEqual(3);
    expect(codes()).toBe(451);
    expect(await found()).toBe(5);
    add(writer, OTHERS);
    expect(codes()).toBe(454);
  } finally {
    await index.close();
    writer.close();
  }
});

test("a ledger of version 17 keeps its static vectors, and a search then uses the new vector of a changed drawer", async () => {
  const derived = { staticCode: staticTable().codeOf, formsOf };
  const old = new LedgerWriter(file, applyWrite, derived);
  add(old, [...OTHERS, KEY]);
  old.close();
  const ledger = new Database(file);
  const rows = (from: Database.Database): unknown[] => from.prepare("SELECT row, code, scale FROM static_code").all();
  const before = rows(ledger);
  ledger.exec(`DROP TRIGGER static_gone; DROP TABLE static_renewed; ALTER TABLE static_code RENAME TO by_row;
    CREATE TABLE static_code (seq INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER NOT NULL UNIQUE, code BLOB NOT NULL, scale REAL NOT NULL) STRICT;
    INSERT INTO static_code (row, code, scale) SELECT * FROM by_row ORDER BY row DESC; DROP TABLE by_row;
    CREATE TRIGGER static_gone AFTER DELETE ON drawer BEGIN DELETE FROM static_code WHERE row = old.row; END;
    PRAGMA user_version = 17;`);
  ledger.close();

  const writer = new LedgerWriter(file, applyWrite, derived);
  const index = openLexicalIndex({ ledgerFile: file });
  try {
    const opened = new Database(file, { readonly: true });
    expect(rows(opened)).toEqual(before);
    expect(opened.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'static%'").pluck().all()).toEqual(
      expect.arrayContaining(["static_code", "static_renewed", "static_gone"]),
    );
    const meaning = async (question: string, row: number): Promise<number> =>
      (await index.score(question, [row]))[0]?.meaning ?? 0;
    const [row, id] = opened.prepare("SELECT row, id FROM drawer WHERE text = ?").raw().get(KEY) as [number, string];
    const asked = await meaning(ASKED, row);
    change(writer, id, "Lunch is soup.");
    expect(await meaning(ASKED, row)).toBeLessThan(asked);
    expect(await meaning("what do we eat at noon", row)).toBeGreaterThan(0.2);
    opened.close();
  } finally {
    await index.close();
    writer.close();
  }
});

test("a large ledger, whose static vectors have their own thread, gives the same candidates and scores as a small ledger", async () => {
  // The highest row number decides if a ledger counts as large. `rowsBefore` gives a small ledger high row numbers.
  const found = async (rowsBefore: number): Promise<unknown[]> => {
    const ledgerFile = join(folder, `${rowsBefore}.sqlite3`);
    const writer = new LedgerWriter(ledgerFile, applyWrite, { staticCode: staticTable().codeOf, formsOf });
    const ledger = new Database(ledgerFile);
    ledger.prepare("INSERT INTO sqlite_sequence VALUES ('drawer', ?)").run(rowsBefore);
    add(writer, [KEY, ...OTHERS]);
    const index = openLexicalIndex({ ledgerFile });
    const answers: unknown[] = [];
    const ask = async (filter: object): Promise<void> => {
      const candidates = await index.retrieve(ASKED, filter, 20, false);
      answers.push(candidates.map(({ row, parts }) => ({ row: row - rowsBefore, parts })));
    };
    await ask({});
    ledger.prepare("DELETE FROM drawer WHERE row = ?").run(rowsBefore + 2);
    add(writer, ["A second opener for the entrance hangs under the flowerpot."]);
    for (const filter of [{}, { wing: "w" }, { wing: "none" }, { since: "2020-01-01" }]) await ask(filter);
    await index.close();
    ledger.close();
    writer.close();
    return answers;
  };
  const small = await found(0);
  expect(small.map((rows) => (rows as unknown[]).length)).toEqual([4, 4, 4, 0, 4]);
  expect(await found(300_000)).toEqual(small);
});
