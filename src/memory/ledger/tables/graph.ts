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
import { readLink } from "../graph-row.ts";
import type { LedgerDatabase } from "../open.ts";
import { GraphRows } from "./graph-merge.ts";

export const FACT_COLUMNS = `t.id, t.subject, t.predicate, t.object, t.valid_from AS validFrom, t.valid_to AS validTo,
  t.confidence, t.source_closet AS sourceCloset`;

export class SqliteGraphTx implements GraphTx {
  readonly #onChange: (kind: GraphKind, id: string) => void;
  readonly #rows: GraphRows;
  readonly #statements;

  constructor(database: LedgerDatabase, onChange: (kind: GraphKind, id: string) => void) {
    this.#onChange = onChange;
    this.#rows = new GraphRows(database);
    const prepare = (sql: string) => database.prepare(sql);
    this.#statements = {
      putEntity: prepare(
        "INSERT INTO kg_entity (id, name, type, properties, created_at) VALUES (?, ?, 'unknown', '{}', ?)",
      ),
      factsOf: database.prepare<[string, string, string], Fact>(
        `SELECT ${FACT_COLUMNS} FROM kg_triple t WHERE subject = ? AND predicate = ? AND object = ? ORDER BY row`,
      ),
      insertFact: prepare(
        `INSERT INTO kg_triple (id, subject, predicate, object, valid_from, valid_to, confidence, source_closet,
             source_file, source_drawer_id, extracted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      endFact: prepare("UPDATE kg_triple SET valid_to = ? WHERE id = ?"),
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
      everHeldDrawers: prepare("SELECT 1 FROM sqlite_sequence WHERE name = 'drawer'"),
      holdsRoom: database.prepare<[string, string], number>("SELECT 1 FROM place WHERE wing = ? AND room = ?").pluck(),
    };
  }

  hasEntity(id: string): boolean {
    return this.bodyOf("entity", id) !== undefined;
  }

  putEntity(id: string, name: string, atMs: number): void {
    if (this.hasEntity(id)) return;
    this.#onChange("entity", id);
    this.#statements.putEntity.run(id, name, timestamp(atMs));
  }

  openFacts(subject: string, predicate: string, object: string): Fact[] {
    return this.factsOf(subject, predicate, object).filter(({ validTo }) => validTo === null);
  }

  factsOf(subject: string, predicate: string, object: string): Fact[] {
    return this.#statements.factsOf.all(subject, predicate, object);
  }

  bodyOf(kind: GraphKind, id: string): string | undefined {
    return this.#rows.bodyOf(kind, id);
  }

  putBody(kind: GraphKind, id: string, body: string): void {
    this.restore(kind, id, body);
  }

  hasFact(id: string): boolean {
    return this.bodyOf("triple", id) !== undefined;
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
    const record = this.bodyOf(kind, id);
    return record === undefined ? undefined : readLink(record);
  }

  putLink(kind: LinkKind, id: string, record: LinkRecord): void {
    this.restore(kind, id, JSON.stringify(record));
  }

  deleteLink(kind: LinkKind, id: string): boolean {
    if (this.bodyOf(kind, id) === undefined) return false;
    this.restore(kind, id, null);
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
    this.#rows.put(kind, id, body);
  }

  mayHoldRoom(wing: string, room: string): boolean {
    if (this.#statements.holdsRoom.get(wing, room) !== undefined) return true;
    return this.#statements.everHeldDrawers.get() === undefined;
  }
}

/** Formats a time like SQLite's CURRENT_TIMESTAMP, the default in upstream's tables. */
function timestamp(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19).replace("T", " ");
}
