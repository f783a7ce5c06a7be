/** Tests how the ledger and knowledge_graph.sqlite3 are kept equal, and whose row wins if both changed. */
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { graphDifferences } from "../../../helpers/graph-differences.ts";
import { createGraphFixture, type GraphFixture } from "../../../helpers/graph-fixture.ts";

const JOB = { subject: "Alice", predicate: "works at", object: "Acme" };
const FOREIGN_FACT = `INSERT INTO entities (id, name) VALUES ('bob', 'Bob'), ('tea', 'tea');
  INSERT INTO triples (id, subject, predicate, object) VALUES ('stray', 'bob', 'likes', 'tea')`;

let graph: GraphFixture;
beforeEach(() => {
  graph = createGraphFixture();
});
afterEach(() => graph[Symbol.dispose]());

const facts = (): string[] =>
  graph.reader.graph
    .timeline(undefined, 100, 0)
    .facts.map((fact) => `${fact.subject} ${fact.predicate} ${fact.object}`);
const ends = (): unknown[] => graph.reader.graph.timeline(undefined, 100, 0).facts.map(({ validTo }) => validTo);
const agree = (): void => expect(graphDifferences(graph.paths)).toEqual([]);

describe("a change of a fact in the ledger", () => {
  it("a change in the ledger is sent to the graph file once, with upstream's columns", () => {
    graph.write("kg_add", {
      ...JOB,
      valid_from: "2025-01-01",
      source_file: "/f",
      source_drawer_id: "d",
      source_closet: "c",
    });
    expect(graph.sync()).toMatchObject({ sent: 3, taken: 0, relisted: 0 });
    expect(graph.sync()).toMatchObject({ sent: 0, taken: 0, relisted: 0 });
    expect(graph.rows("SELECT id, name, type, properties FROM entities")).toEqual([
      ["alice", "Alice", "unknown", "{}"],
      ["acme", "Acme", "unknown", "{}"],
    ]);
    const columns =
      "subject, predicate, object, valid_from, valid_to, confidence, source_closet, source_file, source_drawer_id";
    expect(graph.rows(`SELECT ${columns}, adapter_name, extracted_at FROM triples`)).toEqual([
      ["alice", "works_at", "acme", "2025-01-01", null, 1, "c", "/f", "d", null, "2025-06-15 15:06:40"],
    ]);
    agree();
  });

  it("a change in the ledger is reported as not sent until it is sent", () => {
    graph.write("kg_add", JOB);
    expect(graphDifferences(graph.paths)).toEqual([
      "entity alice: not sent yet",
      "entity acme: not sent yet",
      expect.stringMatching(/^triple t_alice_works_at_acme_[0-9a-f]{12}: not sent yet$/),
    ]);
    graph.sync();
    graph.foreign(FOREIGN_FACT);
    expect(graphDifferences(graph.paths)).toHaveLength(3);
  });

  it("the driver makes no file while the graph is empty", () => {
    expect(graph.sync()).toMatchObject({ sent: 0 });
    expect(existsSync(graph.paths.graphFile)).toBe(false);
  });

  it("a change that is sent twice is in the graph file once", () => {
    graph.write("kg_add", JOB);
    graph.side.look();
    graph.side.accept();
    expect(graph.side.send().rows).toHaveLength(3);
    expect(graph.sync()).toMatchObject({ sent: 3 });
    expect(graph.rows("SELECT count(*) FROM triples")).toEqual([[1]]);
    agree();
  });

  it("a fact that changes while it is sent stays in the list of unsent rows", () => {
    graph.write("kg_add", JOB);
    graph.side.look();
    graph.side.accept();
    const { rows } = graph.side.send();
    graph.write("kg_invalidate", { ...JOB, ended: "2030-01-01" });
    graph.writer.graph.done(rows);
    expect(graph.sync()).toMatchObject({ sent: 1 });
    expect(graph.rows("SELECT valid_to FROM triples")).toEqual([["2030-01-01"]]);
  });

  it("a change in the ledger does not overwrite a row that another program changed after the driver read the file", () => {
    graph.write("kg_add", JOB);
    graph.sync();
    graph.write("kg_invalidate", { ...JOB, ended: "2030-01-01" });
    graph.side.look();
    graph.side.accept();
    graph.foreign("UPDATE triples SET valid_to = '2029-01-01'");
    expect(graph.side.send()).toMatchObject({ rows: [], others: true });
    expect(graph.rows("SELECT valid_to FROM triples")).toEqual([["2029-01-01"]]);
  });
});

describe("changes of the graph file by other programs", () => {
  beforeEach(() => {
    graph.write("kg_add", JOB);
    graph.sync();
  });

  it("another program's changes are adopted, and the file stays unchanged", () => {
    graph.foreign(FOREIGN_FACT);
    graph.foreign("UPDATE triples SET valid_to = '2030-01-01' WHERE id <> 'stray'");
    graph.foreign("UPDATE entities SET type = 'person', properties = '{\"a\":1}', name = 'ALICE' WHERE id = 'alice'");
    expect(graph.sync()).toMatchObject({ taken: 5, sent: 0, relisted: 0 });
    expect(facts().toSorted()).toEqual(["alice works_at acme", "bob likes tea"]);
    expect(graph.reader.graph.factsOf("acme", "incoming")).toMatchObject([
      { subjectName: "ALICE", validTo: "2030-01-01" },
    ]);
    agree();
  });

  it("another program's changes are adopted while our changes are sent", () => {
    graph.foreign(FOREIGN_FACT);
    graph.write("kg_add", { ...JOB, object: "Globex" });
    expect(graph.sync()).toMatchObject({ taken: 3, sent: 2 });
    expect(facts()).toHaveLength(3);
    agree();
  });

  it("another program's changes to a fact that we ended are adopted, except the end", () => {
    graph.write("kg_invalidate", { ...JOB, ended: "2030-01-01" });
    graph.foreign("UPDATE triples SET valid_to = '2029-01-01', confidence = 0.5");
    graph.sync();
    expect(ends()).toEqual(["2030-01-01"]);
    expect(graph.rows("SELECT valid_to, confidence FROM triples")).toEqual([["2030-01-01", 0.5]]);
    agree();
  });

  it("a fact that another program changes just after we sent the fact has the other program's value in both stores", () => {
    graph.write("kg_add", { ...JOB, object: "Globex" });
    graph.side.look();
    graph.side.accept();
    graph.side.send();
    graph.foreign("UPDATE triples SET valid_to = '2029-01-01'");
    graph.sync();
    expect(ends()).toEqual(["2029-01-01", "2029-01-01"]);
    agree();
  });

  it("an older graph file that another program restores does not reopen a fact that we ended", () => {
    graph.write("kg_invalidate", { ...JOB, ended: "2030-01-01" });
    graph.sync();
    graph.foreign("UPDATE triples SET valid_to = NULL");
    graph.sync();
    expect(ends()).toEqual(["2030-01-01"]);
    graph.sync();
    expect(graph.rows("SELECT valid_to FROM triples")).toEqual([["2030-01-01"]]);
    agree();
  });

  it("graph rows that another program deleted are sent again", () => {
    graph.foreign("DELETE FROM triples");
    expect(graph.sync()).toMatchObject({ relisted: 1, sent: 1 });
    agree();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(graph.paths.graphFile + suffix, { force: true });
    expect(graph.sync()).toMatchObject({ relisted: 3, sent: 3 });
    agree();
  });

  it("a graph file that replaces ours is adopted and gets our missing rows", () => {
    const other = new Database(`${graph.paths.graphFile}.other`);
    other.exec(`CREATE TABLE entities (id TEXT PRIMARY KEY, name TEXT NOT NULL, type TEXT, properties TEXT, created_at TEXT);
      CREATE TABLE triples (id TEXT PRIMARY KEY, subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL,
        valid_from TEXT, valid_to TEXT, confidence REAL, source_closet TEXT, source_file TEXT, extracted_at TEXT);
      ${FOREIGN_FACT};
      INSERT INTO triples (id, subject, predicate, object) VALUES (NULL, 'bob', 'is', 'nameless');`);
    other.close();
    for (const suffix of ["-wal", "-shm"]) rmSync(graph.paths.graphFile + suffix, { force: true });
    renameSync(`${graph.paths.graphFile}.other`, graph.paths.graphFile);
    expect(graph.sync()).toMatchObject({ taken: 3, relisted: 3, sent: 3 });
    expect(graph.rows("SELECT source_drawer_id, adapter_name FROM triples WHERE id = 'stray'")).toEqual([[null, null]]);
    agree();
  });

  it("another program's facts about unknown entities are adopted, and sent again after they were deleted", () => {
    graph.foreign("INSERT INTO triples (id, subject, predicate, object) VALUES ('orphan', 'x', 'p', 'y')");
    expect(graph.sync()).toMatchObject({ taken: 1 });
    graph.foreign("DELETE FROM triples WHERE id = 'orphan'");
    expect(graph.sync()).toMatchObject({ relisted: 1, sent: 1, problem: "" });
    agree();
  });

  it("a graph file with a renamed column changes nothing in the ledger", () => {
    graph.foreign("ALTER TABLE entities RENAME COLUMN name TO title");
    expect(graph.sync()).toMatchObject({ taken: 0 });
    graph.foreign("ALTER TABLE entities RENAME COLUMN title TO name");
    expect(graph.sync()).toMatchObject({ taken: 0, problem: "" });
    agree();
  });

  it("a graph file that another program made unreadable is reported and stays unchanged", () => {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(graph.paths.graphFile + suffix, { force: true });
    writeFileSync(graph.paths.graphFile, "not a database, by any means, but long enough to look at ".repeat(20));
    graph.write("kg_add", { ...JOB, object: "Globex" });
    expect(graph.sync()).toMatchObject({
      sent: 0,
      taken: 0,
      problem: expect.stringContaining("not a database") as string,
    });
    expect(facts()).toHaveLength(2);
    rmSync(graph.paths.graphFile);
    expect(graph.sync()).toMatchObject({ sent: 5, problem: "" });
    agree();
  });
});

it("values of any SQLite type in the graph file are adopted as text, once", () => {
  graph.write("kg_add", JOB);
  graph.sync();
  graph.foreign(`INSERT INTO entities (id, name, type) VALUES (7, 7, x'c3a9');
    INSERT INTO triples (id, subject, predicate, object, confidence, valid_from) VALUES ('odd', 7, 'p', 7, 'high', 2025)`);
  expect(graph.sync()).toMatchObject({ taken: 2, sent: 0 });
  expect(graph.sync()).toMatchObject({ taken: 0, sent: 0 });
  expect(graph.reader.graph.factsOf("7", "outgoing")).toMatchObject([
    { objectName: "7", validFrom: "2025", confidence: 0 },
  ]);
});
