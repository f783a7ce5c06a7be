/** Reads and inserts events and artifacts on one connection to the coordination log. */
import { hash, randomBytes } from "node:crypto";
import type { LedgerDatabase } from "../../memory/ledger/open.ts";
import type {
  Artifact,
  EventPage,
  EventQuery,
  LogstreamTx,
  NewArtifact,
  NewEvent,
  StreamEvent,
} from "../../memory/port/logstream.ts";
import type { HybridClock } from "./clock.ts";
import { orElse } from "../../base/or-else.ts";

type Named = Record<string, unknown>;
type EventRow = Omit<StreamEvent, "artifact_ids" | "metadata"> & { metadata_json: string };
type ArtifactRow = Artifact & { content: string; metadata_json: string };

const EVENT = `rowid AS seq, id, origin_replica, origin_seq, hlc, type, stream, room, topic, from_agent, to_agent, correlation_id,
  branch, base_commit, status, body, created_at, metadata_json`;
const ARTIFACT = "id, kind, sha256, size_bytes, content, created_by, created_at, origin_replica, metadata_json";
/** Maximum number of cached SQL statements; a full cache is emptied. Each combination of filters has its own statement. */
const KEPT_MAX = 64;

export class LogRows implements LogstreamTx {
  readonly #database: LedgerDatabase;
  readonly #replicaId: () => string;
  readonly #clock: HybridClock;
  readonly #statements;
  readonly #queries = new Map<string, ReturnType<LedgerDatabase["prepare"]>>();

  constructor(database: LedgerDatabase, replicaId: () => string, clock: HybridClock) {
    this.#database = database;
    this.#replicaId = replicaId;
    this.#clock = clock;
    const prepare = (sql: string) => database.prepare(sql);
    this.#statements = {
      event: database.prepare<[string], EventRow>(`SELECT ${EVENT} FROM events WHERE id = ?`),
      links: database
        .prepare<[string], string>("SELECT artifact_id FROM event_artifacts WHERE event_id = ? ORDER BY artifact_id")
        .pluck(),
      lastSeq: database.prepare<[], number>("SELECT coalesce(max(rowid), 0) FROM events").pluck(),
      lastStamp: database.prepare<[], string | null>("SELECT max(hlc) FROM events").pluck(),
      artifact: database.prepare<[string], ArtifactRow>(`SELECT ${ARTIFACT} FROM artifacts WHERE id = ?`),
      hasArtifact: database.prepare<[string], number>("SELECT 1 FROM artifacts WHERE id = ?").pluck(),
      vector: database.prepare<[], { origin: string; top: number }>(
        `SELECT origin_replica AS origin, max(origin_seq) AS top FROM events WHERE origin_replica IS NOT NULL GROUP BY origin_replica`,
      ),
      addEvent: prepare(
        `INSERT INTO events (id, type, stream, room, topic, from_agent, to_agent, correlation_id, branch, base_commit, status, body,
           created_at, metadata_json, origin_replica, hlc)
         VALUES (@id, @type, @stream, @room, @topic, @from_agent, @to_agent, @correlation_id, @branch, @base_commit, @status, @body,
           @created_at, @metadata_json, @origin_replica, @hlc)`,
      ),
      numberEvent: prepare("UPDATE events SET origin_seq = rowid WHERE rowid = ?"),
      link: prepare("INSERT INTO event_artifacts (event_id, artifact_id) VALUES (?, ?)"),
      addArtifact: prepare(
        `INSERT INTO artifacts (${ARTIFACT}) VALUES (@id, @kind, @sha256, @size_bytes, @content, @created_by, @created_at,
           @origin_replica, @metadata_json)`,
      ),
    };
  }

  event(id: string): StreamEvent | undefined {
    const row = this.#statements.event.get(id);
    return row && this.#toEvent(row);
  }

  events({ filter, afterSeq, beforeSeq, limit, sizeMaxBytes, newestFirst }: EventQuery): EventPage {
    const { since, to_agent: toAgent, ...equal } = filter;
    const conditions = Object.keys(equal).map((column) => `${column} = @${column}`);
    if (toAgent !== undefined) conditions.push("(to_agent = @to_agent OR to_agent = '*')");
    if (since !== undefined) conditions.push("created_at >= @since");
    if (afterSeq !== undefined) conditions.push("rowid > @afterSeq");
    if (beforeSeq !== undefined) conditions.push("rowid < @beforeSeq");
    const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
    const sql = `SELECT ${EVENT} FROM events${where} ORDER BY rowid ${newestFirst ? "DESC" : "ASC"} LIMIT @limit`;
    const rows = this.#prepared(sql).iterate({
      ...filter,
      ...(afterSeq !== undefined && { afterSeq }),
      ...(beforeSeq !== undefined && { beforeSeq }),
      limit,
    }) as IterableIterator<EventRow>;
    const events: StreamEvent[] = [];
    let sizeBytes = 0;
    for (const row of rows) {
      sizeBytes += Buffer.byteLength(row.body) + Buffer.byteLength(row.metadata_json);
      if (events.length > 0 && sizeBytes > sizeMaxBytes) return { events, more: true };
      events.push(this.#toEvent(row));
    }
    return { events, more: false };
  }

  lastSeq(): number {
    return this.#statements.lastSeq.get() ?? 0;
  }

  artifact(id: string): ReturnType<LogstreamTx["artifact"]> {
    const row = this.#statements.artifact.get(id);
    if (row === undefined) return undefined;
    const { metadata_json: json, ...artifact } = row;
    return { ...artifact, metadata: parsed(json) };
  }

  hasArtifact(id: string): boolean {
    return this.#statements.hasArtifact.get(id) !== undefined;
  }

  replicaId(): string {
    return this.#replicaId();
  }

  versionVector(): Record<string, number> {
    return Object.fromEntries(this.#statements.vector.all().map(({ origin, top }) => [origin, top]));
  }

  addEvent({ metadata, artifactIds, atMs, ...text }: NewEvent): StreamEvent {
    const { addEvent, numberEvent, link, lastStamp } = this.#statements;
    const replicaId = this.#replicaId();
    const id = newId("evt", atMs);
    const { lastInsertRowid: seq } = addEvent.run({
      ...text,
      id,
      created_at: timestamp(atMs),
      metadata_json: JSON.stringify(metadata),
      origin_replica: replicaId,
      hlc: this.#clock.next(replicaId, lastStamp.get() ?? null, Date.now()),
    } satisfies Named);
    numberEvent.run(seq);
    for (const artifactId of artifactIds) link.run(id, artifactId);
    // Returns the ids in the given order, as upstream does. Later reads sort the ids.
    return { ...(this.event(id) as StreamEvent), artifact_ids: [...artifactIds] };
  }

  addArtifact({ content, metadata, atMs, kind, created_by }: NewArtifact): Artifact {
    const artifact: Artifact = {
      id: newId("art", atMs),
      kind,
      sha256: hash("sha256", content),
      size_bytes: Buffer.byteLength(content),
      created_by,
      created_at: timestamp(atMs),
      origin_replica: this.#replicaId(),
    };
    this.#statements.addArtifact.run({ ...artifact, content, metadata_json: JSON.stringify(metadata) });
    return artifact;
  }

  #prepared(sql: string): ReturnType<LedgerDatabase["prepare"]> {
    const known = this.#queries.get(sql);
    if (known !== undefined) return known;
    if (this.#queries.size >= KEPT_MAX) this.#queries.clear();
    const statement = this.#database.prepare(sql);
    this.#queries.set(sql, statement);
    return statement;
  }

  #toEvent({ metadata_json: json, ...row }: EventRow): StreamEvent {
    return { ...row, artifact_ids: this.#statements.links.all(row.id), metadata: parsed(json) };
  }
}

function timestamp(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}

function newId(prefix: string, atMs: number): string {
  return `${prefix}_${timestamp(atMs).replaceAll(/[-:Z]/g, "")}_${randomBytes(6).toString("hex")}`;
}

/** Parses JSON that another process may have written. Invalid JSON counts as empty. */
function parsed(json: string): unknown {
  return orElse(() => JSON.parse(json) as unknown, {});
}
