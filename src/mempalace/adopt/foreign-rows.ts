/** Finds rows that the ledger lacks, and rows of ours that other programs changed or deleted. It only reads, page by page, on a thread. */
import { readColumn } from "../../memory/ledger/json-column.ts";
import type { LedgerDatabase } from "../../memory/ledger/open.ts";
import { CLOSETS, DRAWERS, type OutboxKind, removedKey } from "../../memory/ledger/outbox-kinds.ts";
import { isSameRow, isMetadata } from "../../memory/ledger/record.ts";
import { adoptedKey, isAsAdopted } from "../../memory/ledger/tables/adopted-digests.ts";
import type { Metadata } from "../../memory/port/drawer.ts";
import type { ForeignRow } from "../../memory/port/public-palace.ts";
import { type ChromaCollection, type ChromaDatabase, readHead } from "../format/chroma-file.ts";
import {
  countRows,
  lastRow,
  type PalaceRow,
  PalaceVectors,
  readRows,
  readTail,
  topicOf,
} from "../format/palace-file.ts";
import { OPERATION } from "../format/queue.ts";
import { absentIds, type RowKind } from "./settled-rows.ts";
import { selectValue } from "../../memory/ledger/select.ts";

/**
 * Chroma's sequence numbers that limit an adoption. Rows above `sinceSeq` were written after palace and ledger last agreed. Deletions above
 * `untilSeq` are undone, not adopted. `isLeft`: the palace is the one that the last broker left, not a restored older copy.
 */
export type Horizon = { sinceSeq: number; untilSeq: number; isLeft?: boolean };

const PAGE_ROWS = 200;
const PAGES_PER_BATCH = 10;
const SAMPLE_PAGE_ROWS = 50;

/**
 * State of a row in the ledger. `settled`: the palace must have exactly this row. `adopted`: unchanged since its adoption. `unmarked`:
 * has no vector and no digest, so the row is adopted (again) only if the palace has an equal row.
 */
type Known = { text: string; metadata: Metadata; settled: boolean; adopted: boolean; unmarked: boolean };
/** SQL for ids of rows that the ledger has deleted and this palace has not, even if another palace, used meanwhile, has deleted them. */
const unsentRemovals = (kind: OutboxKind, table: string): string => `
    SELECT i.value, '', '{}', 0, 1, NULL FROM json_each(?) i
      WHERE (i.value IN (SELECT id FROM ${kind.table})
          OR EXISTS (SELECT 1 FROM meta WHERE key = ${removedKey(kind, "i.value")} AND instr(value, '#' || ?) > 0))
        AND NOT EXISTS (SELECT 1 FROM ${table} d WHERE d.id = i.value)`;
/** SQL for the ledger's rows and unsent removals among given ids. Parameters: the ids, the ids again, the collection's id. */
const KNOWN: Readonly<Record<RowKind, string>> = {
  drawers: `
    SELECT d.id, d.text, d.metadata, EXISTS (SELECT 1 FROM vector v WHERE v.row = d.row) AS embedded,
        EXISTS (SELECT 1 FROM outbox o WHERE o.id = d.id) AS listed,
        (SELECT value FROM meta WHERE key = ${adoptedKey("d.id")}) AS mark
      FROM drawer d WHERE d.id IN (SELECT value FROM json_each(?))
    UNION ALL ${unsentRemovals(DRAWERS, "drawer")}`,
  closets: `
    SELECT c.id, c.text, c.metadata, c.vector IS NOT NULL AS embedded,
        EXISTS (SELECT 1 FROM closet_outbox o WHERE o.id = c.id) AS listed, NULL AS mark
      FROM closet c WHERE c.id IN (SELECT value FROM json_each(?))
    UNION ALL ${unsentRemovals(CLOSETS, "closet")}`,
};

type KnownRow = { id: string; text: string; metadata: string; embedded: number; listed: number; mark: string | null };

export type ForeignOptions = {
  palace: ChromaDatabase;
  palaceDir: string;
  collection: ChromaCollection;
  ledger: LedgerDatabase;
  horizon: Horizon;
  kind?: RowKind | undefined;
};

export class ForeignRows {
  readonly #palace: ChromaDatabase;
  readonly #ledger: LedgerDatabase;
  readonly #collection: ChromaCollection;
  readonly #horizon: Horizon;
  readonly #kind: RowKind;
  readonly #vectors: PalaceVectors;
  readonly #tail: Map<string, PalaceRow | undefined>;
  #after = 0;
  #pagesDone = false;
  readonly total: number;

  constructor(options: ForeignOptions) {
    const { palace, palaceDir, collection, ledger, horizon, kind = "drawers" } = options;
    this.#palace = palace;
    this.#ledger = ledger;
    this.#collection = collection;
    this.#horizon = horizon;
    this.#kind = kind;
    this.#vectors = new PalaceVectors(palace, palaceDir, collection);
    this.#tail = readTail(palace, collection).rows;
    this.total = countRows(palace, collection);
  }

  /** Reason why the collection's index cannot be read; undefined if it can. */
  get torn(): string | undefined {
    return this.#vectors.torn;
  }

  /** Reads the next page. Returns the number of rows read and the rows to adopt. The last page also has the deletions (`removed`). */
  next(): { read: number; rows: ForeignRow[]; removed: string[]; done: boolean } {
    let read = 0;
    const rows: ForeignRow[] = [];
    for (let pages = 0; pages < PAGES_PER_BATCH && rows.length < PAGE_ROWS && !this.#pagesDone; pages++) {
      const page = readRows(this.#palace, this.#collection, this.#after, PAGE_ROWS);
      this.#pagesDone = page.length === 0;
      this.#after = page.at(-1)?.row ?? this.#after;
      read += page.length;
      rows.push(...this.#foreign(page.filter(({ id }) => !this.#tail.has(id))));
    }
    if (!this.#pagesDone) return { read, rows, removed: [], done: false };
    const tail = [...this.#tail.values()].flatMap((row) => row ?? []);
    rows.push(...this.#foreign(tail));
    return { read, rows, removed: this.#removed(), done: true };
  }

  /** Returns texts and vectors from all parts of the palace, from which the caller finds the vectors' model. */
  sample(limit: number): { text: string; vector: Float32Array }[] {
    const found: { text: string; vector: Float32Array }[] = [];
    const last = lastRow(this.#palace, this.#collection);
    for (let place = 0; place < limit; place++) {
      const after = Math.floor((place * last) / limit);
      const page = readRows(this.#palace, this.#collection, after, SAMPLE_PAGE_ROWS);
      const next = page.find(
        ({ row, id, text }) =>
          row <= Math.floor(((place + 1) * last) / limit) && text !== "" && this.#vector(id) !== undefined,
      );
      const vector = next && this.#vector(next.id);
      if (next !== undefined && vector !== undefined) found.push({ text: next.text, vector });
    }
    for (const row of this.#tail.values()) {
      const vector = row && row.text !== "" && found.length < limit ? this.#vector(row.id) : undefined;
      if (row !== undefined && vector !== undefined) found.push({ text: row.text, vector });
    }
    return found;
  }

  close(): void {
    this.#vectors.close();
  }

  #foreign(rows: readonly PalaceRow[]): ForeignRow[] {
    const known = this.#known(rows.map(({ id }) => id));
    return rows.flatMap((row) => {
      const ours = known.get(row.id);
      const isTaken = ours === undefined || this.#isTaken(ours, row);
      const { id, text, metadata } = row;
      return isTaken ? [{ id, text, metadata, vector: this.#vector(id) }] : [];
    });
  }

  #isTaken(ours: Known, row: PalaceRow): boolean {
    const { settled, adopted, unmarked } = ours;
    if (!settled && !adopted && !unmarked) return false;
    // Adopts an unmarked row again to give it a digest.
    if (isSameRow(ours, row)) return unmarked;
    return adopted || (settled && row.seq > this.#horizon.sinceSeq);
  }

  #vector(id: string): Float32Array | undefined {
    const vector = this.#vectors.vector(id);
    return vector === undefined ? undefined : normalised(vector);
  }

  /** Returns the ids of rows deleted according to Chroma's queue; if Chroma has purged the queue, the ids of all absent rows. */
  #removed(): string[] {
    const { sinceSeq, untilSeq } = this.#horizon;
    if (this.#isQueuePurged()) return this.#absent();
    const deleted = this.#palace
      .prepare<[string, number, number, number, string], string>(
        `SELECT DISTINCT q.id FROM embeddings_queue q WHERE topic = ? AND seq_id > ? AND seq_id <= ? AND operation = ?
           AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.segment_id = ? AND e.embedding_id = q.id)`,
      )
      .pluck()
      .all(topicOf(this.#collection), sinceSeq, untilSeq, OPERATION.delete, this.#collection.metadataSegment);
    const known = this.#known(deleted);
    return deleted.filter((id) => {
      const ours = known.get(id);
      return (ours?.settled === true || ours?.adopted === true) && this.#tail.get(id) === undefined;
    });
  }

  /** Returns true if Chroma has purged the deletions, as it does when its index grows. Then every absent row counts as deleted. */
  #isQueuePurged(): boolean {
    const { sinceSeq, untilSeq, isLeft = false } = this.#horizon;
    if (!isLeft || sinceSeq === 0 || readHead(this.#palace) !== untilSeq || untilSeq <= sinceSeq) return false;
    const sql = "SELECT 1 FROM embeddings_queue WHERE topic = ? AND seq_id <= ? LIMIT 1";
    const kept = selectValue<number>(this.#palace, sql, topicOf(this.#collection), sinceSeq);
    return kept === undefined;
  }

  #absent(): string[] {
    const sides = { palace: this.#palace, collection: this.#collection, ledger: this.#ledger, kind: this.#kind };
    return absentIds(sides).filter((id) => this.#tail.get(id) === undefined);
  }

  /** Returns the states of the given ids in the ledger. An unsent removal is known but not settled. */
  #known(ids: readonly string[]): Map<string, Known> {
    const list = JSON.stringify(ids);
    const sql = KNOWN[this.#kind];
    const found = this.#ledger.prepare<[string, string, string], KnownRow>(sql).all(list, list, this.#collection.id);
    return new Map(
      found.map(({ id, text, metadata, embedded, listed, mark }) => {
        const column = this.#kind === "drawers" ? "drawer.metadata" : "closet.metadata";
        const content = { text, metadata: readColumn(column, metadata, isMetadata) };
        const adopted = isAsAdopted(content, mark);
        const unmarked = this.#kind === "drawers" && embedded === 0 && listed === 0 && !adopted;
        return [id, { ...content, settled: embedded === 1 && listed === 0, adopted, unmarked }];
      }),
    );
  }
}

export function hasForeign(options: ForeignOptions): boolean {
  const foreign = new ForeignRows(options);
  try {
    for (;;) {
      const { rows, removed, done } = foreign.next();
      if (rows.length + removed.length > 0 || done) return rows.length + removed.length > 0;
    }
  } finally {
    foreign.close();
  }
}

/** Scales the vector to length one. Returns undefined for a vector of length zero. */
function normalised(vector: Float32Array): Float32Array | undefined {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  return Number.isFinite(length) && length > 0 ? vector.map((value) => value / length) : undefined;
}
