/** Tests a kill at each step of a change of a long drawer. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import type { WriteCall } from "../../../../src/memory/port/ledger.ts";

const SLICE = 800;

let folder: string, file: string, script: string;
/** Ids of a drawer and a diary entry, each of four slices. The entry's slices name their parent only in `parent_entry_id`. */
let drawer: string, entry: string;

function callOf(key: string, method: string, params: Record<string, unknown>): WriteCall {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  return { key, isRepeatable: true, method, params, peer, requestId: key, atMs: 1_767_225_600_000 };
}

function commit(call: WriteCall): Record<string, unknown> {
  const writer = new LedgerWriter(file, applyWrite);
  const [done] = writer.commit([call]).outcomes;
  writer.close();
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done));
  return done.outcome.value as Record<string, unknown>;
}

/** Program that runs a write and kills its process before change number `at`, or after the last change. */
const KILLED = `
import { applyWrite } from ${JSON.stringify(import.meta.resolve("../../../../src/broker/tools/writes.ts"))};
import { LedgerWriter } from ${JSON.stringify(import.meta.resolve("../../../../src/memory/ledger/write/group-commit.ts"))};
const { call, at, file } = JSON.parse(process.argv[2]);
let step = 0;
const die = () => step++ === at && process.kill(process.pid, "SIGKILL");
const seen = (tx) => new Proxy(tx, { get: (target, name) => {
  const value = Reflect.get(target, name, target);
  if (typeof value !== "function") return value;
  return (...given) => {
    if (["insertDrawers", "updateDrawer", "deleteDrawer", "deleteDrawers"].includes(name)) die();
    return value.apply(target, given);
  };
} });
const writer = new LedgerWriter(file, (tx, call, ...more) => {
  const answer = applyWrite(seen(tx), call, ...more);
  die();
  return answer;
});
writer.commit([call]);
process.send(step);`;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  script = join(folder, "killed.ts");
  writeFileSync(script, KILLED);
  const content = "four slices of text ".repeat(160);
  drawer = String(commit(callOf("drawer", "add_drawer", { wing: "w", room: "r", content }))["drawer_id"]);
  entry = String(commit(callOf("entry", "diary_write", { agent_name: "me", entry: content }))["entry_id"]);
  const ledger = new Database(file);
  const old = "json_remove(metadata, '$.parent_drawer_id') WHERE room = 'diary'";
  expect(ledger.prepare(`UPDATE drawer SET metadata = ${old}`).run().changes).toBe(content.length / SLICE);
  ledger.close();
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function contents(): unknown {
  const ledger = new Database(file, { readonly: true });
  expect(ledger.pragma("integrity_check", { simple: true })).toBe("ok");
  const tables = ["drawer", "place", "journal", "change", "outbox"];
  const held = tables.map((name) => ledger.prepare(`SELECT * FROM ${name} ORDER BY 1, 2`).all());
  ledger.close();
  return held;
}

const CHANGES: Readonly<Record<string, () => [method: string, params: Record<string, unknown>, listed: unknown]>> = {
  "shorter text": () => [
    "update_drawer",
    { drawer_id: drawer, content: "x".repeat(SLICE + 1), room: "moved" },
    [
      [drawer, 2],
      [entry, 4],
    ],
  ],
  "longer text of an old diary entry": () => [
    "update_drawer",
    { drawer_id: entry, content: "y".repeat(5 * SLICE) },
    [
      [entry, 5],
      [drawer, 4],
    ],
  ],
  "deletion of several": () => ["delete_drawers", { drawer_ids: [drawer, "nope", entry] }, []],
};

test.each(Object.keys(CHANGES))(
  "%s: a kill at any step changes no row, and if the same call is sent again, it is done completely and once",
  async (name) => {
    const [method, params, listed] = CHANGES[name]?.() ?? ["", {}, []];
    const call = callOf("change", method, params);
    const before = contents();
    let kills = 0;
    for (let isKilled = true; isKilled; kills += isKilled ? 1 : 0) {
      const child = fork(script, [JSON.stringify({ call, at: kills, file })], { execArgv: ["--no-warnings"] });
      const [, signal] = (await once(child, "exit")) as [number | null, string | null];
      isKilled = signal === "SIGKILL";
      if (isKilled) expect(contents(), `killed at ${kills}`).toEqual(before);
    }
    // The child that was not killed has finished, and a repetition changes no row.
    expect(kills).toBeGreaterThan(2);
    const after = contents();
    expect(after).not.toEqual(before);
    commit(call);
    expect(contents()).toEqual(after);
    const reader = new SqliteLedgerReader(file);
    const { drawers, total } = reader.listLogical({}, 10, 0);
    reader.close();
    const shown = drawers.map(({ id, rows }) => [id, rows.length]);
    expect({ total, shown: shown.toSorted() }).toEqual({
      total: shown.length,
      shown: (listed as unknown[]).toSorted(),
    });
  },
);
