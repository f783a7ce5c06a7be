/** Reads another memory's rows page by page, in the form in which `palace import` sends them. */
import type { LedgerDatabase } from "../ledger/open.ts";
import { bodySql } from "../ledger/schema/graph-schema.ts";
import { IMPORTED_BODY, IMPORTED_ID, JOURNAL_BODY } from "../ledger/schema/imported-schema.ts";
import { PARENT, SLICE_ORDER } from "../ledger/schema/slice-index.ts";
import { STANDING_BODY } from "../ledger/schema/outcome-schema.ts";
import { parseJson } from "../../base/parse-json.ts";
import type { ImportedRow, ImportItems, ImportKind } from "../../protocol/import.ts";

const PAGE_ROWS = 200;

type Stored = { row: number; id: string; text: string; metadata: string };

/** Functions that yield each item of a kind once, in filing order or, for a table without row numbers, by id. */
export const ROWS_OF: { [K in ImportKind]: (ledger: LedgerDatabase) => Iterable<ImportItems[K]> } = {
  drawer: drawers,
  closet: closets,
  source: sources,
  entity: (ledger) => bodies(ledger, `${bodySql("entity")} AS body FROM kg_entity WHERE`),
  triple: (ledger) => bodies(ledger, `${bodySql("triple")} AS body FROM kg_triple WHERE`),
  tunnel: (ledger) => bodies(ledger, "record AS body FROM link WHERE kind = 'tunnel' AND"),
  hallway: (ledger) => bodies(ledger, "record AS body FROM link WHERE kind = 'hallway' AND"),
  standing: (ledger) => named(ledger, `id, ${STANDING_BODY} AS body FROM standing`),
  carried: (ledger) => named(ledger, "id, value AS body FROM carried_graph"),
  journal,
};

/** Yields each drawer as one item with all its slices, in the order in which the first slices were filed. */
function* drawers(ledger: LedgerDatabase): Generator<ImportItems["drawer"]> {
  const slices = ledger.prepare<[string], Stored>(`SELECT * FROM drawer WHERE ${PARENT} = ? ORDER BY ${SLICE_ORDER}`);
  for (const drawer of pages<Stored & { parent: string | null }>(ledger, `*, ${PARENT} AS parent FROM drawer WHERE`)) {
    const { row, id, parent } = drawer;
    if (parent === null) {
      yield { id, rows: [toRow(drawer)] };
      continue;
    }
    const rows = slices.all(parent);
    if (rows.every((one) => one.row >= row)) yield { id: parent, rows: rows.map(toRow) };
  }
}

function* closets(ledger: LedgerDatabase): Generator<ImportItems["closet"]> {
  const ofSource = ledger.prepare<[string], Stored>(
    "SELECT * FROM closet WHERE source_file = ? AND source_file <> '' ORDER BY row",
  );
  for (const closet of pages<Stored & { source_file: string }>(ledger, "* FROM closet WHERE")) {
    const { row, source_file: sourceFile } = closet;
    const rows = sourceFile === "" ? [closet] : ofSource.all(sourceFile);
    if (rows[0]?.row === row) yield { sourceFile, closets: rows.map(toRow) };
  }
}

function* sources(ledger: LedgerDatabase): Generator<ImportItems["source"]> {
  const columns = "row, source_file AS sourceFile, wing, mtime, sha256, drawers";
  for (const { row: _row, ...source } of pages<ImportItems["source"] & { row: number }>(
    ledger,
    `${columns} FROM source WHERE sha256 <> '' AND`,
  ))
    yield source;
}

/** Yields the rows of the journal. A row that was imported keeps the name of the memory from which it came. */
function* journal(ledger: LedgerDatabase): Generator<ImportItems["journal"]> {
  yield* bodies(ledger, `${IMPORTED_BODY} AS body FROM imported_journal WHERE`, `row, ${IMPORTED_ID} AS id`);
  // Leaves out rows that an import wrote: each import writes new rows, so two memories that import each other would never finish.
  const own = `${JOURNAL_BODY} AS body FROM journal WHERE method <> 'memory.import' AND`;
  yield* bodies(ledger, own, `seq AS row, ${IMPORTED_ID} AS id`);
}

function* bodies(ledger: LedgerDatabase, from: string, name = "row, id"): Generator<{ id: string; body: string }> {
  for (const { id, body } of pages<{ row: number; id: string; body: string }>(ledger, `${name}, ${from}`))
    yield { id, body };
}

/** Yields the rows of a table without row numbers, ordered by id. */
function* named(ledger: LedgerDatabase, from: string): Generator<{ id: string; body: string }> {
  const statement = ledger.prepare<[string, number], { id: string; body: string }>(
    `SELECT ${from} WHERE id > ? ORDER BY id LIMIT ?`,
  );
  for (let after = ""; ;) {
    const page = statement.all(after, PAGE_ROWS);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

/** Yields the rows that a query finds, read in pages. `from` is the SQL up to the condition on the row. */
function* pages<Row extends { row: number }>(ledger: LedgerDatabase, from: string): Generator<Row> {
  const statement = ledger.prepare<[number, number], Row>(`SELECT ${from} row > ? ORDER BY row LIMIT ?`);
  for (let after = 0; ;) {
    const page = statement.all(after, PAGE_ROWS);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.row;
  }
}

/** Metadata that cannot be parsed become null, which `isFlat` then refuses: one invalid row must not end the import of all other rows. */
function toRow({ id, text, metadata }: Stored): ImportedRow {
  return { id, text, metadata: (parseJson(metadata) ?? null) as ImportedRow["metadata"] };
}
