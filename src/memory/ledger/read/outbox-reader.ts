/** Reads the drawers or closets that the public palace does not have yet. */
import { invariant } from "../../../base/invariant.ts";
import type { OutboxEntry } from "../../port/public-palace.ts";
import { readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import type { OutboxKind } from "../outbox-kinds.ts";
import { isMetadata, toFloats } from "../record.ts";
import { selectRows } from "../select.ts";

type OutboxRecord = { seq: number; id: string; text: string | null; metadata: string; vector: Buffer | null };
type OutboxLag = { entries: number; oldestAtMs: number | null; awaitingVector: number };

export class OutboxReader {
  readonly #database: LedgerDatabase;
  readonly #kind: OutboxKind;

  constructor(database: LedgerDatabase, kind: OutboxKind) {
    this.#database = database;
    this.#kind = kind;
  }

  /** Returns the oldest entries. A null record means that the palace must remove the row. */
  entries(limit: number): OutboxEntry[] {
    const { table, joined } = this.#kind;
    const sql = `SELECT o.seq, o.id, c.text, c.metadata, vector FROM ${table} o ${joined} ORDER BY o.seq LIMIT ?`;
    return selectRows<OutboxRecord>(this.#database, sql, limit).map(({ seq, id, text, metadata, vector }) => {
      if (text === null) return { seq, id, record: null };
      invariant(vector, "what enters the outbox has its vector");
      const content = { text, metadata: readColumn(`${table} metadata`, metadata, isMetadata) };
      return { seq, id, record: { id, ...content, vector: toFloats(vector) } };
    });
  }

  lag(): OutboxLag {
    const { table, pending } = this.#kind;
    const sql = `SELECT count(*) AS entries, (SELECT at_ms FROM ${table} ORDER BY seq LIMIT 1) AS oldestAtMs,
      (${pending}) AS awaitingVector FROM ${table}`;
    const lag = this.#database.prepare<[], OutboxLag>(sql).get();
    return lag ?? { entries: 0, oldestAtMs: null, awaitingVector: 0 };
  }
}
