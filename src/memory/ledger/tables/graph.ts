/** Implements GraphTx over SQLite. */
import type {
  Fact,
  GraphKind,
  GraphTx,
  HallwayEnd,
  LinkKind,
  LinkRecord,
  NamedRows,
  NewFact,
} from "../../port/graph.ts";
import { bodyStatement, isLink, readLink } from "../graph-row.ts";
import type { LedgerDatabase } from "../open.ts";
import { GRAPH_TABLES } from "../schema/graph-schema.ts";
import { putSql, valuesOf } from "./graph-merge.ts";

export const FACT_COLUMNS = `t.id, t.subject, t.predicate, t.object, t.valid_from AS validFrom, t.valid_to AS validTo,
  t.confidence, t.source_closet AS sourceCloset`;

export class SqliteGraphTx implements GraphTx {
  readonly #database: LedgerDatabase;
  readonly #onChange: (kind: GraphKind, id: string) => void;
  readonly #body;
  readonly #statements;

  constructor(database: LedgerDatabase, onChange: (kind: GraphKind, id: string) => void) {
    this.#database = database;
    this.#onChange = onChange;
    this.#body = {
      entity: bodyStatement(database, "entity"),
      triple: bodyStatement(database, "triple"),
      tunnel: bodyStatement(database, "tunnel"),
      hallway: bodyStatement(database, "hallway"),
    };
    const prepare = (sql: string) => database.prepare(sql);
    this.#statements = {
      hasEntity: database.prepare<[string], number>("SELECT 1 FROM kg_entity WHERE id = ?").pluck(),
      putEntity: prepare(
        "INSERT INTO kg_entity (id, name, type, properties, created_at) VALUES (?, ?, 'unknown', '{}', ?)",
      ),
      openFacts: database.prepare<[string, string, string], Fact>(
        `SELECT ${FACT_COLUMNS} FROM kg_triple t
           WHERE subject = ? AND predicate = ? AND object = ? AND valid_to IS NULL ORDER BY row`,
      ),
      factsOf: database.prepare<[string, string, string], Fact>(
        `SELECT ${FACT_COLUMNS} FROM kg_triple t WHERE subject = ? AND predicate = ? AND object = ? ORDER BY row`,
      ),
      hasFact: database.prepare<[string], number>("SELECT 1 FROM kg_triple WHERE id = ?").pluck(),
      insertFact: prepare(
        `INSERT INTO kg_triple (id, subject, predicate, object, valid_from, valid_to, confidence, source_closet,
             source_file, source_drawer_id, extracted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      endFact: prepare("UPDATE kg_triple SET valid_to = ? WHERE id = ?"),
      findLink: database.prepare<[string, string], string>("SELECT record FROM link WHERE kind = ? AND id = ?").pluck(),
      putLink: prepare(
        `INSERT INTO link (kind, id, record) VALUES (?, ?, ?)
           ON CONFLICT (kind, id) DO UPDATE SET record = excluded.record`,
      ),
      deleteLink: prepare("DELETE FROM link WHERE kind = ? AND id = ?"),
      holdsWing: database.prepare<[string], number>("SELECT 1 FROM place WHERE wing = ?").pluck(),
      namedRows: database.prepare<[string], NamedRows>(
        `SELECT room, json_extract(metadata, '$.entities') AS entities, count(*) AS drawers FROM drawer
           WHERE wing = ? AND entities <> '' AND json_extract(metadata, '$.is_sentinel') IS NOT TRUE GROUP BY 1, 2`,
      ),
      hallwaysOf: database
        .prepare<[string], string>("SELECT record FROM link WHERE kind = 'hallway' AND wing = ? ORDER BY row")
        .pluck(),
      hallwayEnds: database.prepare<[], HallwayEnd>(
        `SELECT wing, name, max(drawers) AS drawers FROM (
           SELECT wing, json_extract(record, '$.entity_a') AS name, json_extract(record, '$.co_occurrence_count') AS drawers
             FROM link WHERE kind = 'hallway'
           UNION ALL SELECT wing, json_extract(record, '$.entity_b'), json_extract(record, '$.co_occurrence_count')
             FROM link WHERE kind = 'hallway'
         ) WHERE typeof(wing) = 'text' AND typeof(name) = 'text' GROUP BY wing, name`,
      ),
      holdsRoom: database.prepare<[string, string], number>("SELECT 1 FROM place WHERE wing = ? AND room = ?").pluck(),
    };
  }

  hasEntity(id: string): boolean {
    return this.#statements.hasEntity.get(id) !== undefined;
  }

  putEntity(id: string, name: string, atMs: number): void {
    if (this.hasEntity(id)) return;
    this.#onChange("entity", id);
    this.#statements.putEntity.run(id, name, timestamp(atMs));
  }

  openFacts(subject: string, predicate: string, object: string): Fact[] {
    return this.#statements.openFacts.all(subject, predicate, object);
  }

  factsOf(subject: string, predicate: string, object: string): Fact[] {
    return this.#statements.factsOf.all(subject, predicate, object);
  }

  bodyOf(kind: GraphKind, id: string): string | undefined {
    return this.#body[kind].get(id);
  }

  putBody(kind: GraphKind, id: string, body: string): void {
    this.restore(kind, id, body);
  }

  hasFact(id: string): boolean {
    return this.#statements.hasFact.get(id) !== undefined;
  }

  insertFact({ id, subject, predicate, object, validFrom, validTo, confidence, atMs, ...sources }: NewFact): void {
    const { sourceCloset, sourceFile, sourceDrawerId } = sources;
    this.#onChange("triple", id);
    this.#statements.insertFact.run(
      ...[id, subject, predicate, object, validFrom, validTo, confidence],
      ...[sourceCloset, sourceFile, sourceDrawerId, timestamp(atMs)],
    );
  }

  endFact(id: string, validTo: string): void {
    this.#onChange("triple", id);
    this.#statements.endFact.run(validTo, id);
  }

  findLink(kind: LinkKind, id: string): LinkRecord | undefined {
    const record = this.#statements.findLink.get(kind, id);
    return record === undefined ? undefined : readLink(record);
  }

  putLink(kind: LinkKind, id: string, record: LinkRecord): void {
    this.#onChange(kind, id);
    this.#statements.putLink.run(kind, id, JSON.stringify(record));
  }

  deleteLink(kind: LinkKind, id: string): boolean {
    if (this.#statements.findLink.get(kind, id) === undefined) return false;
    this.#onChange(kind, id);
    this.#statements.deleteLink.run(kind, id);
    return true;
  }

  namedRows(wing: string): NamedRows[] | undefined {
    return this.#statements.holdsWing.get(wing) === undefined ? undefined : this.#statements.namedRows.all(wing);
  }

  hallwaysOf(wing: string): LinkRecord[] {
    return this.#statements.hallwaysOf.all(wing).map(readLink);
  }

  hallwayEnds(): HallwayEnd[] {
    return this.#statements.hallwayEnds.all();
  }

  /** Restores a row from its before-image; null deletes the row. */
  restore(kind: GraphKind, id: string, body: string | null): void {
    this.#onChange(kind, id);
    if (body !== null) return void this.#database.prepare(putSql(kind)).run(id, ...valuesOf(kind, body));
    const { table, where } = isLink(kind)
      ? { table: "link", where: `kind = '${kind}' AND` }
      : { table: GRAPH_TABLES[kind].table, where: "" };
    this.#database.prepare(`DELETE FROM ${table} WHERE ${where} id = ?`).run(id);
  }

  mayHoldRoom(wing: string, room: string): boolean {
    if (this.#statements.holdsRoom.get(wing, room) !== undefined) return true;
    return this.#database.prepare("SELECT 1 FROM sqlite_sequence WHERE name = 'drawer'").get() === undefined;
  }
}

/** Formats a time like SQLite's CURRENT_TIMESTAMP, the default in upstream's tables. */
function timestamp(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19).replace("T", " ");
}
