/** Implements GraphReader over SQLite. Every query uses an index, except the search for words of a name. */
import type { GraphReader, LinkKind, LinkRecord, NamedFact } from "../../port/graph.ts";
import { allLinks, readLink } from "../graph-row.ts";
import type { LedgerDatabase } from "../open.ts";
import { FACT_COLUMNS } from "../tables/graph.ts";
import { selectRow, selectRows, selectValue, selectValues } from "../select.ts";

/** Same limit as in MemPalace 3.11's find_entity_candidates. */
const SIMILAR_MAX = 5;

const NAMED = `SELECT ${FACT_COLUMNS}, s.name AS subjectName, o.name AS objectName FROM kg_triple t
  JOIN kg_entity s ON s.id = t.subject JOIN kg_entity o ON o.id = t.object`;

export class SqliteGraphReader implements GraphReader {
  readonly #database: LedgerDatabase;

  constructor(database: LedgerDatabase) {
    this.#database = database;
  }

  hasEntity(id: string): boolean {
    return selectRow(this.#database, "SELECT 1 FROM kg_entity WHERE id = ?", id) !== undefined;
  }

  hasFacts(): boolean {
    return selectRow(this.#database, "SELECT 1 FROM kg_triple LIMIT 1") !== undefined;
  }

  entitiesAmong(ids: readonly string[]): string[] {
    const sql = "SELECT id FROM kg_entity WHERE id IN (SELECT value FROM json_each(?))";
    return selectValues<string>(this.#database, sql, JSON.stringify(ids));
  }

  endedFacts(subject: string, limit: number): NamedFact[] {
    const sql = `${NAMED} WHERE t.subject = ? AND t.valid_to IS NOT NULL ORDER BY t.row DESC LIMIT ?`;
    return selectRows<NamedFact>(this.#database, sql, subject, limit);
  }

  factsWith(subject: string, predicate: string, limit: number): NamedFact[] {
    const sql = `${NAMED} WHERE t.subject = ? AND t.predicate = ? ORDER BY t.row DESC LIMIT ?`;
    return selectRows<NamedFact>(this.#database, sql, subject, predicate, limit);
  }

  factsOf(entityId: string, direction: "outgoing" | "incoming"): NamedFact[] {
    const column = direction === "outgoing" ? "subject" : "object";
    return selectRows<NamedFact>(this.#database, `${NAMED} WHERE t.${column} = ? ORDER BY t.row`, entityId);
  }

  similarEntities(name: string, id: string): { id: string; name: string }[] {
    const [word, token] = [escaped(name), escaped(id)];
    const patterns = [
      ...[`${word} %`, `% ${word}`, `% ${word} %`],
      ...[`${token}\\_%`, `%\\_${token}`, `%\\_${token}\\_%`],
    ];
    const like = (column: string): string => Array(3).fill(`${column} LIKE ? ESCAPE '\\'`).join(" OR ");
    const sql = `SELECT id, name FROM kg_entity WHERE (name = ? OR ${like("name")} OR ${like("id")}) AND id <> ?
      ORDER BY row LIMIT ${SIMILAR_MAX}`;
    return selectRows<{ id: string; name: string }>(this.#database, sql, name, ...patterns, id);
  }

  timeline(entityId: string | undefined, limit: number, offset: number): { facts: NamedFact[]; total: number } {
    const where = entityId === undefined ? "" : "WHERE t.subject = ? OR t.object = ?";
    const of = entityId === undefined ? [] : [entityId, entityId];
    const sql = `${NAMED} ${where} ORDER BY t.valid_from ASC NULLS LAST, t.id LIMIT ? OFFSET ?`;
    const facts = selectRows<NamedFact>(this.#database, sql, ...of, limit, offset);
    return { facts, total: this.#count(`FROM kg_triple t ${where}`, ...of) };
  }

  stats(): { entities: number; facts: number; open: number; predicates: string[] } {
    return {
      entities: this.#count("FROM kg_entity"),
      facts: this.#count("FROM kg_triple"),
      open: this.#count("FROM kg_triple WHERE valid_to IS NULL"),
      predicates: selectValues<string>(this.#database, "SELECT DISTINCT predicate FROM kg_triple ORDER BY predicate"),
    };
  }

  links(kind: LinkKind): LinkRecord[] {
    return allLinks(this.#database, kind);
  }

  hallways(wing: string | undefined, limit: number, offset: number): { records: LinkRecord[]; total: number } {
    const where = `FROM link WHERE kind = 'hallway' ${wing === undefined ? "" : "AND wing = ?"}`;
    const of = wing === undefined ? [] : [wing];
    const sql = `SELECT record ${where} ORDER BY weight DESC, row LIMIT ? OFFSET ?`;
    const records = selectValues<string>(this.#database, sql, ...of, limit, offset);
    return { records: records.map(readLink), total: this.#count(where, ...of) };
  }

  /** Counts the rows that upstream's graph files do not have yet. */
  pending(): { rows: number; oldestAtMs: number | null } {
    const sql =
      "SELECT count(*) AS rows, (SELECT at_ms FROM graph_outbox ORDER BY seq LIMIT 1) AS oldestAtMs FROM graph_outbox";
    return selectRow<{ rows: number; oldestAtMs: number | null }>(this.#database, sql) ?? { rows: 0, oldestAtMs: null };
  }

  facts(): number {
    return this.#count("FROM kg_triple");
  }

  isEmpty(): boolean {
    return ["kg_entity", "kg_triple", "link", "graph_outbox"].every(
      (table) => selectRow(this.#database, `SELECT 1 FROM ${table} LIMIT 1`) === undefined,
    );
  }

  #count(from: string, ...values: string[]): number {
    return selectValue<number>(this.#database, `SELECT count(*) ${from}`, ...values) ?? 0;
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}
