/** The tables of the graph. Triggers list each row whose newest state upstream's files lack, so that no write can omit a row. */
import { NOW_MS } from "../outbox-kinds.ts";

/** Names of tables and columns. A column is text or a real number, which the ledger and upstream's file store in the same way. */
export const GRAPH_TABLES = {
  entity: { table: "kg_entity", fileTable: "entities", columns: ["name", "type", "properties", "created_at"] },
  triple: {
    table: "kg_triple",
    fileTable: "triples",
    columns: [
      ...["subject", "predicate", "object", "valid_from", "valid_to", "confidence"],
      ...["source_closet", "source_file", "source_drawer_id", "adapter_name", "extracted_at"],
    ],
  },
} as const;

/** Returns SQL for a row's columns. `absent`: columns that an older file of upstream does not have; they are NULL. */
export function columnsOf(kind: keyof typeof GRAPH_TABLES, absent: ReadonlySet<string>, table: string): string[] {
  return GRAPH_TABLES[kind].columns.map((column) =>
    absent.has(column) ? "NULL" : `CAST(${table}.${column} AS ${column === "confidence" ? "REAL" : "TEXT"})`,
  );
}

/** Returns SQL that makes one JSON array of a row's columns. */
export function bodySql(kind: keyof typeof GRAPH_TABLES): string {
  return `json_array(${columnsOf(kind, new Set(), GRAPH_TABLES[kind].table).join(", ")})`;
}

/**
 * Returns triggers that list changed rows in `graph_outbox`. `gone`: a deleted row's last state. The SQL avoids OR REPLACE: inside a
 * trigger the outer statement's ON CONFLICT would override it (Source: sqlite.org/lang_createtrigger.html).
 */
function listed(kind: string, table: string, gone: string): string {
  const put = (when: string, id: string, state: string): string => `
CREATE TRIGGER IF NOT EXISTS ${table}_${kind}_${when.toLowerCase()} AFTER ${when} ON ${table} ${
    table === "link" ? `WHEN ${id}.kind = '${kind}'` : ""
  } BEGIN
  DELETE FROM graph_outbox WHERE kind = '${kind}' AND id = ${id}.id;
  INSERT INTO graph_outbox (kind, id, gone, at_ms) VALUES ('${kind}', ${id}.id, ${state}, ${NOW_MS});
END;`;
  return put("INSERT", "new", "NULL") + put("UPDATE", "new", "NULL") + put("DELETE", "old", gone);
}

export const GRAPH_SCHEMA = `
CREATE TABLE IF NOT EXISTS kg_entity (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  type TEXT,
  properties TEXT,
  created_at TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS kg_triple (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  subject TEXT NOT NULL,
  predicate TEXT NOT NULL,
  object TEXT NOT NULL,
  valid_from TEXT,
  valid_to TEXT,
  confidence REAL,
  source_closet TEXT,
  source_file TEXT,
  source_drawer_id TEXT,
  adapter_name TEXT,
  extracted_at TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS kg_triple_fact ON kg_triple (subject, predicate, object);
CREATE INDEX IF NOT EXISTS kg_triple_object ON kg_triple (object);
CREATE INDEX IF NOT EXISTS kg_triple_start ON kg_triple (valid_from, id);

-- Tunnels and hallways. A record is upstream's JSON, including unknown keys.
CREATE TABLE IF NOT EXISTS link (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  record TEXT NOT NULL,
  wing TEXT AS (CAST(json_extract(record, '$.wing') AS TEXT)),
  weight INTEGER AS (CAST(coalesce(json_extract(record, '$.co_occurrence_count'), 0) AS INTEGER)),
  UNIQUE (kind, id)
) STRICT;
CREATE INDEX IF NOT EXISTS link_weight ON link (kind, weight);
CREATE INDEX IF NOT EXISTS link_wing ON link (kind, wing, weight);

CREATE TABLE IF NOT EXISTS graph_outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  gone TEXT,
  at_ms INTEGER NOT NULL,
  UNIQUE (kind, id)
) STRICT;
${listed("entity", "kg_entity", "''")}
${listed("triple", "kg_triple", "''")}
${listed("tunnel", "link", "old.record")}
${listed("hallway", "link", "old.record")}
`;
