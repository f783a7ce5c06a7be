/** In schema version 1 a trigger indexes new words. The current writer does this too, so the migration must drop the trigger. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "../../src/memory/ledger/schema/schema.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";

const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };

test("a ledger of version 1 is migrated once, with each word in the index once", () => {
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  const file = join(folder, "ledger.sqlite3");
  try {
    const old = new Database(file);
    old.pragma("journal_mode = WAL");
    old.pragma(`application_id = ${APPLICATION_ID}`);
    old.exec(SCHEMA);
    old.exec(`CREATE INDEX drawer_room ON drawer (room); CREATE INDEX journal_at ON journal (at_ms);
      DROP TRIGGER drawer_insert;
      CREATE TRIGGER drawer_insert AFTER INSERT ON drawer BEGIN
      INSERT INTO drawer_fts (rowid, text, date_words) VALUES (new.row, new.text, new.date_words);
      INSERT INTO place VALUES (new.wing, new.room, 1) ON CONFLICT (wing, room) DO UPDATE SET drawers = drawers + 1;
      INSERT INTO pending_embedding VALUES (new.row);
    END;`);
    const insert = old.prepare(
      "INSERT INTO drawer (id, wing, room, source_file, text, date_words, metadata) VALUES (?, 'w', 'r', '', ?, '', '{}')",
    );
    insert.run("before", "a word from before");
    old.pragma("user_version = 1");
    old.close();

    for (const id of ["first", "second"]) {
      const writer = new LedgerWriter(file, (tx, { params }) => {
        tx.insertDrawers([{ id: String(params["id"]), text: `the ${id} word`, metadata: { wing: "w", room: "r" } }]);
        return {};
      });
      const call = { key: id, isRepeatable: true, method: "test.file", params: { id }, peer, requestId: id, atMs: 1 };
      expect(writer.commit([call]).outcomes[0]?.outcome.ok).toBe(true);
      writer.close();
    }

    const ledger = new Database(file);
    expect(ledger.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
    expect(() => ledger.exec("INSERT INTO drawer_fts (drawer_fts, rank) VALUES ('integrity-check', 1)")).not.toThrow();
    ledger.exec("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'drawer_fts', 'row')");
    expect(ledger.prepare("SELECT term, doc, cnt FROM temp.terms WHERE term = 'word'").get()).toEqual({
      term: "word",
      doc: 3,
      cnt: 3,
    });
    expect(ledger.prepare("SELECT drawers FROM place").pluck().get()).toBe(3);
    expect(ledger.prepare("SELECT name FROM sqlite_schema WHERE name IN ('drawer_room', 'journal_at')").all()).toEqual(
      [],
    );
    ledger.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
