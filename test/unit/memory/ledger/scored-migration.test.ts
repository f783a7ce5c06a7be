/** Tests the table of single outcomes, which a ledger of schema version 11 gets when it is opened. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { why } from "../../../../src/learning/scoring/why.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { digest } from "../../../../src/memory/ledger/record.ts";
import { SCHEMA_VERSION } from "../../../../src/memory/ledger/schema/schema.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";

let folder: string;
let file: string;
let clock = 1000;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(writer: LedgerWriter, agent: string, method: string, params: Record<string, unknown>): unknown {
  clock += 1000;
  const peer = { agent, door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${clock}`, isRepeatable: true, method, params, peer, requestId: "r", atMs: clock };
  const [done] = writer.commit([call]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value;
}

const score = (writer: LedgerWriter, agent: string, id: string, outcome: string): unknown =>
  write(writer, agent, "score_memories", { outcome: "unknown", memory_scores: { [id]: outcome } });

/** Changes the ledger back to version 11: drops the table of single outcomes, and removes them from before-images and digests. */
function older(): void {
  const old = new Database(file);
  const row = "SELECT json_array(score, uses, successes, last_used_ms, json(past)) FROM standing";
  const [body = expect.fail("nothing came of it")] = old.prepare<[], string>(row).pluck().all();
  old.exec("UPDATE change SET before = json_remove(before, '$[5]') WHERE kind = 'standing'");
  old
    .prepare("UPDATE change SET after = ? WHERE kind = 'standing' AND journal = (SELECT max(seq) FROM journal)")
    .run(digest(body));
  old.exec("DROP TABLE IF EXISTS scored");
  old.pragma("user_version = 11");
  old.close();
}

function told<T>(look: (reader: SqliteLedgerReader) => T): T {
  const reader = new SqliteLedgerReader(file);
  try {
    return look(reader);
  } finally {
    reader.close();
  }
}

test("a migrated drawer keeps its outcomes without their scorer, and new scores name their scorer", () => {
  let writer = new LedgerWriter(file, applyWrite);
  const { drawer_id: id } = write(writer, "a", "add_drawer", { wing: "w", room: "r", content: "words" }) as {
    drawer_id: string;
  };
  score(writer, "a", id, "worked");
  writer.close();
  older();

  writer = new LedgerWriter(file, applyWrite);
  score(writer, "b", id, "failed");
  const ledger = new Database(file, { readonly: true });
  expect(ledger.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
  expect(ledger.pragma("integrity_check", { simple: true })).toBe("ok");
  ledger.close();
  expect(told((reader) => why(reader, id, 0))).toMatchObject({
    ...{ score: 0.4, uses: 2 },
    outcomes: [
      { outcome: "worked", by: null, weight: null },
      { outcome: "failed", by: "agent", weight: 1 },
    ],
  });
  writer.close();
});

test("a score from before the ledger's migration can still be undone", () => {
  let writer = new LedgerWriter(file, applyWrite);
  const { drawer_id: id } = write(writer, "a", "add_drawer", { wing: "w", room: "r", content: "words" }) as {
    drawer_id: string;
  };
  score(writer, "b", id, "partial");
  const sinceMs = clock + 1;
  score(writer, "a", id, "failed");
  writer.close();
  older();

  writer = new LedgerWriter(file, applyWrite);
  const undone = write(writer, "c", "memory.undo", { agent: "a", sinceMs, untilMs: clock });
  expect(undone).toMatchObject({ reverted: 1, refused: 0 });
  expect(told((reader) => reader.standings([id]).get(id))).toMatchObject({ score: 0.55, uses: 1 });
  writer.close();
});

test("a drawer's newest fifty outcomes are kept; undo restores older outcomes, and deleting the drawer deletes all its outcomes", () => {
  const writer = new LedgerWriter(file, applyWrite);
  const { drawer_id: id } = write(writer, "a", "add_drawer", { wing: "w", room: "r", content: "words" }) as {
    drawer_id: string;
  };
  for (let times = 0; times < 50; times++) score(writer, "a", id, "partial");
  const before = told((reader) => reader.scored(id));
  expect(before).toHaveLength(50);
  const sinceMs = clock + 1;
  for (let times = 0; times < 3; times++) score(writer, "b", id, "failed");
  const after = told((reader) => reader.scored(id));
  expect(after).toHaveLength(50);
  expect(after.slice(-3).map(({ outcome, source, weight }) => [outcome, source, weight])).toEqual(
    Array(3).fill(["failed", "agent", 1]),
  );
  expect(after.slice(0, -3)).toEqual(before.slice(3));
  expect(write(writer, "c", "memory.undo", { agent: "b", sinceMs, untilMs: clock })).toMatchObject({ reverted: 1 });
  expect(told((reader) => reader.scored(id))).toEqual(before);

  write(writer, "a", "delete_drawer", { drawer_id: id });
  expect(told((reader) => reader.scored(id))).toEqual([]);
  write(writer, "c", "memory.undo", { agent: "a", sinceMs: clock, untilMs: clock });
  expect(told((reader) => reader.scored(id))).toEqual(before);
  writer.close();
});
