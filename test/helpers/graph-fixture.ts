/** Makes a ledger and upstream's graph files, which a test writes as the engine does, but without broker and threads. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import { type GraphPaths, GraphSide } from "../../src/mempalace/graph/side.ts";

export type GraphFixture = Disposable & {
  paths: GraphPaths;
  writer: LedgerWriter;
  reader: SqliteLedgerReader;
  side: GraphSide;
  /** Commits one write. Returns the tool's value or its error. */
  write(tool: string, params: Record<string, unknown>, options?: { atMs?: number; key?: string }): unknown;
  /** Adopts foreign rows and then sends the outbox, as the broker does soon after a write. */
  sync(): { taken: number; relisted: number; removed: number; sent: number; problem: string };
  /** Runs SQL on upstream's file, as a foreign writer would. */
  foreign(sql: string): void;
  rows<T>(sql: string): T[];
};

export function createGraphFixture(): GraphFixture {
  const folder = mkdtempSync(join(tmpdir(), "graph-"));
  const paths: GraphPaths = {
    ledgerFile: join(folder, "ledger.sqlite3"),
    graphFile: join(folder, "knowledge_graph.sqlite3"),
    tunnelsFile: join(folder, "tunnels.json"),
    hallwaysFile: join(folder, "hallways.json"),
    upstreamLocksDir: join(folder, "locks"),
  };
  const writer = new LedgerWriter(paths.ledgerFile, applyWrite);
  const reader = new SqliteLedgerReader(paths.ledgerFile);
  const side = new GraphSide(paths);
  let calls = 0;
  return {
    paths,
    writer,
    reader,
    side,
    write(method, params, { atMs = 1_750_000_000_000 + calls * 1000, key = `key ${calls}` } = {}) {
      calls += 1;
      const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
      const call = { key, isRepeatable: true, method, params, peer, requestId: key, atMs };
      const { outcome } = writer.commit([call]).outcomes[0] ?? {};
      return outcome?.ok === true ? outcome.value : outcome?.error;
    },
    sync() {
      const total = { taken: 0, relisted: 0, removed: 0, sent: 0, problem: "" };
      for (let round = 0; round < 10; round++) {
        const { finding, problem } = side.look();
        const { taken, relisted, removed } = writer.graph.adopt(finding);
        side.accept();
        const sent = side.send();
        writer.graph.done(sent.rows);
        total.taken += taken;
        total.relisted += relisted;
        total.removed += removed;
        total.sent += sent.rows.length;
        total.problem = problem || sent.problem;
        if (!sent.others && sent.rows.length === 0) return total;
      }
      throw new Error("it does not end");
    },
    foreign(sql) {
      const database = new Database(paths.graphFile);
      database.pragma("foreign_keys = OFF");
      database.exec(sql);
      database.close();
    },
    rows<T>(sql: string) {
      const database = new Database(paths.graphFile, { readonly: true });
      const rows = database.prepare(sql).raw().all() as T[];
      database.close();
      return rows;
    },
    [Symbol.dispose]() {
      side.close();
      reader.close();
      writer.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
