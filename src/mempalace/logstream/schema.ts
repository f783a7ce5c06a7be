/** The tables of logstream.sqlite3 as in MemPalace 3.11, and our own table with the idempotency keys of writes and their answers. */
import type { LedgerDatabase } from "../../memory/ledger/open.ts";

const EVENT_COLUMNS = [
  ...["id TEXT PRIMARY KEY", "type TEXT NOT NULL", "stream TEXT NOT NULL", "room TEXT NOT NULL", "topic TEXT"],
  ...["from_agent TEXT NOT NULL", "to_agent TEXT", "correlation_id TEXT", "branch TEXT", "base_commit TEXT"],
  ...["status TEXT", "body TEXT NOT NULL DEFAULT ''", "created_at TEXT NOT NULL"],
  ...["metadata_json TEXT NOT NULL DEFAULT '{}'", "origin_replica TEXT", "origin_seq INTEGER", "hlc TEXT"],
];
const ARTIFACT_COLUMNS = [
  ...["id TEXT PRIMARY KEY", "kind TEXT NOT NULL", "sha256 TEXT NOT NULL", "size_bytes INTEGER NOT NULL"],
  ...["content TEXT NOT NULL", "created_by TEXT NOT NULL", "created_at TEXT NOT NULL"],
  ...["metadata_json TEXT NOT NULL DEFAULT '{}'", "origin_replica TEXT"],
];
/** Columns that files of older MemPalace versions lack. */
const LATER: readonly (readonly [table: string, column: string, type: string])[] = [
  ["events", "topic", "TEXT"],
  ["events", "origin_replica", "TEXT"],
  ["events", "origin_seq", "INTEGER"],
  ["events", "hlc", "TEXT"],
  ["artifacts", "origin_replica", "TEXT"],
];
const INDEXES = [
  "CREATE INDEX IF NOT EXISTS events_stream_created_idx ON events (stream, created_at)",
  "CREATE INDEX IF NOT EXISTS events_correlation_idx ON events (correlation_id, created_at)",
  "CREATE INDEX IF NOT EXISTS events_to_agent_idx ON events (to_agent, created_at)",
  "CREATE INDEX IF NOT EXISTS events_type_idx ON events (type, created_at)",
  "CREATE INDEX IF NOT EXISTS events_topic_created_idx ON events (topic, created_at)",
  "CREATE INDEX IF NOT EXISTS artifacts_sha256_idx ON artifacts (sha256)",
  "CREATE UNIQUE INDEX IF NOT EXISTS events_origin_seq_idx ON events (origin_replica, origin_seq)",
  "CREATE INDEX IF NOT EXISTS events_hlc_idx ON events (hlc)",
];
const KEYS_TABLE = `CREATE TABLE IF NOT EXISTS palace_devbox_writes (
  key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, at_ms INTEGER NOT NULL, method TEXT NOT NULL,
  agent TEXT NOT NULL, door TEXT NOT NULL, uid INTEGER NOT NULL, pid INTEGER NOT NULL, result TEXT NOT NULL
)`;

/** Creates missing tables, columns and indexes in one transaction. Rows without an origin get this palace's replica id, as in upstream. */
export function prepareSchema(database: LedgerDatabase, replicaId: () => string): void {
  database
    .transaction(() => {
      database.exec(`CREATE TABLE IF NOT EXISTS events (${EVENT_COLUMNS.join(", ")})`);
      database.exec(`CREATE TABLE IF NOT EXISTS artifacts (${ARTIFACT_COLUMNS.join(", ")})`);
      database.exec(`CREATE TABLE IF NOT EXISTS event_artifacts (
        event_id TEXT NOT NULL, artifact_id TEXT NOT NULL, PRIMARY KEY (event_id, artifact_id))`);
      for (const [table, column, type] of LATER) {
        const known = database.pragma(`table_info(${table})`) as { name: string }[];
        if (known.every(({ name }) => name !== column))
          database.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`);
      }
      database
        .prepare(
          `UPDATE events SET origin_replica = @id, origin_seq = rowid,
             hlc = printf('%013d-%06x-%s', coalesce(unixepoch(created_at), 0) * 1000, min(rowid, 16777215), @id)
           WHERE origin_replica IS NULL`,
        )
        .run({ id: replicaId() });
      database.prepare("UPDATE artifacts SET origin_replica = ? WHERE origin_replica IS NULL").run(replicaId());
      for (const index of INDEXES) database.exec(index);
      database.exec(KEYS_TABLE);
      database.exec("CREATE INDEX IF NOT EXISTS palace_devbox_writes_at_idx ON palace_devbox_writes (at_ms)");
    })
    .immediate();
}
