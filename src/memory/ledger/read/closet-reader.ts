/** Implements ClosetReader over SQLite, and reads the closets that wait for a vector. */
import type { SearchCloset } from "../../port/closet.ts";
import type { PlaceFilter } from "../../port/drawer.ts";
import type { PendingText } from "../../port/ledger.ts";
import type { LedgerDatabase } from "../open.ts";
import { CLOSETS, removedKey } from "../outbox-kinds.ts";
import { toFloats } from "../record.ts";
import { OutboxReader } from "./outbox-reader.ts";
import { selectRows, selectValue, selectValues } from "../select.ts";

export class SqliteClosetReader {
  readonly outbox: OutboxReader;
  readonly #database: LedgerDatabase;

  constructor(database: LedgerDatabase) {
    this.#database = database;
    this.outbox = new OutboxReader(database, CLOSETS);
  }

  ofRows(rows: readonly number[], { wing, room, wings }: PlaceFilter): SearchCloset[] {
    const among = wings === undefined ? "" : `AND wing IN (${wings.map(() => "?").join(", ")})`;
    const place = `${wing === undefined ? "" : "AND wing = ?"} ${room === undefined ? "" : "AND room = ?"} ${among}`;
    const values = [wing, room, ...(wings ?? [])].filter((value) => value !== undefined);
    return selectRows<{ sourceFile: string; text: string; vector: Buffer }>(
      this.#database,
      `SELECT source_file AS sourceFile, text, vector FROM closet
           WHERE source_file IN (SELECT source_file FROM drawer WHERE row IN (SELECT value FROM json_each(?)))
             AND source_file <> '' AND vector IS NOT NULL ${place} ORDER BY row`,
      JSON.stringify(rows),
      ...values,
    ).map(({ sourceFile, text, vector }) => ({ sourceFile, text, vector: toFloats(vector) }));
  }

  positions(ids: readonly string[]): Map<string, { index: number; total: number }> {
    const sql = `SELECT d.id, json_extract(d.metadata, '$.chunk_index') AS at, (
        SELECT count(*) FROM drawer s WHERE s.source_file = d.source_file AND s.source_file <> ''
      ) AS total FROM drawer d WHERE d.source_file <> '' AND d.id IN (SELECT value FROM json_each(?))`;
    const found = selectRows<{ id: string; at: unknown; total: number }>(this.#database, sql, JSON.stringify(ids));
    return new Map(found.flatMap(({ id, at, total }) => (typeof at === "number" ? [[id, { index: at, total }]] : [])));
  }

  /** Returns true if closets exist, or if the present or an earlier public palace still has to delete a closet. */
  isAny(): boolean {
    const any = `SELECT EXISTS (SELECT 1 FROM closet) OR EXISTS (SELECT 1 FROM closet_outbox)
      OR EXISTS (SELECT 1 FROM meta WHERE key = ${removedKey(CLOSETS, "''")})`;
    return selectValue<number>(this.#database, any) === 1;
  }

  count(): number {
    return selectValue<number>(this.#database, "SELECT count(*) FROM closet") ?? 0;
  }

  pendingTexts(afterRow: number, limit: number): PendingText[] {
    const sql = `SELECT row, text_version AS textVersion, text FROM closet WHERE vector IS NULL AND row > ? ORDER BY row LIMIT ?`;
    return selectRows<PendingText>(this.#database, sql, afterRow, limit);
  }

  /** Lists the mined files for which upstream makes closets: no conversations, no office documents. Slow, so only commands call it. */
  minedSources(wing: string | undefined): string[] {
    const sql = `SELECT DISTINCT source_file FROM drawer WHERE source_file <> '' ${wing === undefined ? "" : "AND wing = ?"}
      AND json_extract(metadata, '$.normalize_version') IS NOT NULL
      AND json_extract(metadata, '$.ingest_mode') IS NULL ORDER BY source_file`;
    return selectValues<string>(this.#database, sql, ...(wing === undefined ? [] : [wing]));
  }
}
