/** Reads the ledger in one read transaction, so that a palace is built from one state and compared with the same state. */
import { allLinks } from "../../memory/ledger/graph-row.ts";
import { isMetadata, toFloats } from "../../memory/ledger/record.ts";
import { isColumns, readColumn } from "../../memory/ledger/json-column.ts";
import { openForReading, type LedgerDatabase } from "../../memory/ledger/open.ts";
import { bodySql, GRAPH_TABLES } from "../../memory/ledger/schema/graph-schema.ts";
import type { LinkKind, LinkRecord } from "../../memory/port/graph.ts";
import type { PalaceRecord } from "../../memory/port/public-palace.ts";
import { selectRow, selectRows, selectValue } from "../../memory/ledger/select.ts";

const PAGE_ROWS = 200;

type Row = { row: number; id: string; text: string; metadata: string; vector: Buffer | null };
export type GraphKind = keyof typeof GRAPH_TABLES;

export class Snapshot {
  readonly #database: LedgerDatabase;
  readonly drawers: number;
  /** Number of drawers with a vector. A public palace cannot have drawers without a vector. */
  readonly embedded: number;
  readonly model: string | undefined;

  /** Number of drawers up to `lastRow` without a vector. */
  readonly missing: number;

  constructor(ledgerFile: string, lastRow: number = Number.MAX_SAFE_INTEGER) {
    this.#database = openForReading(ledgerFile);
    this.#database.exec("BEGIN");
    this.drawers = this.#count("drawer");
    const model = this.#database.prepare<[], string>("SELECT value FROM meta WHERE key = 'model'").pluck();
    this.model = model.get();
    const sql =
      "SELECT count(*) FROM drawer d WHERE d.row <= ? AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.row = d.row)";
    this.missing = selectValue<number>(this.#database, sql, lastRow) ?? 0;
    this.embedded = this.#count("drawer d JOIN vector v ON v.row = d.row");
  }

  /** Yields all drawers with a vector, which the public palace must have, in row order. */
  *pages(): Generator<PalaceRecord[]> {
    const next = this.#database.prepare<[number, number], Row>(
      `SELECT d.row, d.id, d.text, d.metadata, v.vector FROM drawer d JOIN vector v ON v.row = d.row
         WHERE d.row > ? ORDER BY d.row LIMIT ?`,
    );
    for (let after = 0; ;) {
      const page = next.all(after, PAGE_ROWS);
      if (page.length === 0) return;
      after = page.at(-1)?.row ?? after;
      yield page.flatMap((row) => toRecord(row) ?? []);
    }
  }

  record(id: string): PalaceRecord | undefined {
    const sql =
      "SELECT d.row, d.id, d.text, d.metadata, v.vector FROM drawer d JOIN vector v ON v.row = d.row WHERE d.id = ?";
    const row = selectRow<Row>(this.#database, sql, id);
    return row && toRecord(row);
  }

  /** Returns each row's id, and the row's values in the order of the columns of upstream's file. */
  graphRows(kind: GraphKind): { id: string; body: unknown[] }[] {
    return selectRows<{ id: string; body: string }>(
      this.#database,
      `SELECT id, ${bodySql(kind)} AS body FROM ${GRAPH_TABLES[kind].table} ORDER BY row`,
    ).map(({ id, body }) => ({ id, body: readColumn(kind, body, isColumns) }));
  }

  links(kind: LinkKind): LinkRecord[] {
    return allLinks(this.#database, kind);
  }

  close(): void {
    this.#database.close();
  }

  #count(from: string): number {
    return selectValue<number>(this.#database, `SELECT count(*) FROM ${from}`) ?? 0;
  }
}

function toRecord({ id, text, metadata, vector }: Row): PalaceRecord | undefined {
  if (vector === null) return undefined;
  return { id, text, metadata: readColumn("drawer.metadata", metadata, isMetadata), vector: toFloats(vector) };
}
