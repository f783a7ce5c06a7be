/** Reads closets for the search, the embedder and the outbox. Runs on the broker's main thread, as reader.ts does. */
import { invariant } from "../../platform/invariant.ts";
import type { SearchCloset } from "../../port/closet.ts";
import type { Metadata, PlaceFilter } from "../../port/drawer.ts";
import type { PendingText } from "../../port/ledger.ts";
import type { OutboxEntry } from "../../port/public-palace.ts";
import type { LedgerDatabase } from "../open.ts";
import { toFloats } from "../record.ts";

export class SqliteClosetReader {
  readonly #database: LedgerDatabase;

  constructor(database: LedgerDatabase) {
    this.#database = database;
  }

  ofRows(rows: readonly number[], { wing, room }: PlaceFilter): SearchCloset[] {
    const place = `${wing === undefined ? "" : "AND wing = ?"} ${room === undefined ? "" : "AND room = ?"}`;
    const values = [wing, room].filter((value) => value !== undefined);
    return this.#database
      .prepare<string[], { sourceFile: string; text: string; vector: Buffer }>(
        `SELECT source_file AS sourceFile, text, vector FROM closet
           WHERE source_file IN (SELECT source_file FROM drawer WHERE row IN (SELECT value FROM json_each(?)))
             AND source_file <> '' AND vector IS NOT NULL ${place} ORDER BY row`,
      )
      .all(JSON.stringify(rows), ...values)
      .map(({ sourceFile, text, vector }) => ({ sourceFile, text, vector: toFloats(vector) }));
  }

  positions(ids: readonly string[]): Map<string, { index: number; total: number }> {
    const found = this.#database
      .prepare<[string], { id: string; at: unknown; total: number }>(
        `SELECT d.id, json_extract(d.metadata, '$.chunk_index') AS at, (
             SELECT count(*) FROM drawer s WHERE s.source_file = d.source_file AND s.source_file <> ''
           ) AS total FROM drawer d WHERE d.source_file <> '' AND d.id IN (SELECT value FROM json_each(?))`,
      )
      .all(JSON.stringify(ids));
    return new Map(found.flatMap(({ id, at, total }) => (typeof at === "number" ? [[id, { index: at, total }]] : [])));
  }

  /** True when there are closets, or removals that the public palace does not know yet. */
  isAny(): boolean {
    const any = "SELECT EXISTS (SELECT 1 FROM closet) OR EXISTS (SELECT 1 FROM closet_outbox)";
    return this.#database.prepare<[], number>(any).pluck().get() === 1;
  }

  count(): number {
    return this.#database.prepare<[], number>("SELECT count(*) FROM closet").pluck().get() ?? 0;
  }

  pendingCount(): number {
    return this.#database.prepare<[], number>("SELECT count(*) FROM closet WHERE vector IS NULL").pluck().get() ?? 0;
  }

  pendingTexts(afterRow: number, limit: number): PendingText[] {
    return this.#database
      .prepare<[number, number], PendingText>(
        `SELECT row, text_version AS textVersion, text FROM closet WHERE vector IS NULL AND row > ? ORDER BY row LIMIT ?`,
      )
      .all(afterRow, limit);
  }

  /**
   * Lists the sources that upstream makes closets for: files of its project miner and of ours, not conversations,
   * office documents or notes added by hand. Reads every drawer's metadata, so it serves a command and no search.
   */
  minedSources(wing: string | undefined): string[] {
    return this.#database
      .prepare<string[], string>(
        `SELECT DISTINCT source_file FROM drawer WHERE source_file <> '' ${wing === undefined ? "" : "AND wing = ?"}
           AND json_extract(metadata, '$.normalize_version') IS NOT NULL
           AND json_extract(metadata, '$.ingest_mode') IS NULL ORDER BY source_file`,
      )
      .pluck()
      .all(...(wing === undefined ? [] : [wing]));
  }

  outboxEntries(limit: number): OutboxEntry[] {
    return this.#database
      .prepare<[number], { seq: number; id: string; text: string | null; metadata: string; vector: Buffer | null }>(
        `SELECT o.seq, o.id, c.text, c.metadata, c.vector FROM closet_outbox o LEFT JOIN closet c ON c.id = o.id
           ORDER BY o.seq LIMIT ?`,
      )
      .all(limit)
      .map(({ seq, id, text, metadata, vector }) => {
        if (text === null) return { seq, id, record: null };
        invariant(vector, "a closet enters the outbox with its vector");
        return { seq, id, record: { id, text, metadata: JSON.parse(metadata) as Metadata, vector: toFloats(vector) } };
      });
  }

  outboxLag(): { entries: number; oldestAtMs: number | null; awaitingVector: number } {
    const lag = this.#database
      .prepare<[], { entries: number; oldestAtMs: number | null }>(
        "SELECT count(*) AS entries, (SELECT at_ms FROM closet_outbox ORDER BY seq LIMIT 1) AS oldestAtMs FROM closet_outbox",
      )
      .get() ?? { entries: 0, oldestAtMs: null };
    return { ...lag, awaitingVector: this.pendingCount() };
  }
}
