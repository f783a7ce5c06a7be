/**
 * Finds the exchange that a transcript's slice belongs to, and who speaks in the slice. The first slice of an exchange begins with `> ` and
 * the user's words; in all further slices the assistant speaks. The rows of an exchange are consecutive, because slices are filed in order.
 */
import type { Drawer } from "../../port/drawer.ts";
import type { TalkSlice } from "../../port/ledger.ts";
import type { LedgerDatabase } from "../open.ts";
import { selectRow, selectRows } from "../select.ts";

/** Maximum distance, in rows, of a slice from the start of its exchange. A later slice counts as a single drawer. */
const SLICES_MAX = 24;

/** An exchange must begin in this number of a source's first drawers. Otherwise the source is notes that were mined as a transcript. */
const FIRST_DRAWERS = 3;

export function assistantRows(ledger: LedgerDatabase, rows: readonly number[]): Set<number> {
  const sql = `SELECT row, source_file AS source, text GLOB '>*' AS opens FROM drawer WHERE row IN (SELECT value FROM json_each(?))
    AND source_file <> '' AND instr(metadata, '"extract_mode":"exchange"') > 0`;
  const slices = selectRows<{ row: number; source: string; opens: 0 | 1 }>(ledger, sql, JSON.stringify(rows));
  const hasExchange = ledger
    .prepare<[string, number], 0 | 1>(
      `SELECT EXISTS (SELECT 1 FROM (SELECT text FROM drawer WHERE source_file = ? AND source_file <> '' LIMIT ?)
         WHERE text GLOB '>*')`,
    )
    .pluck();
  const known = new Set(slices.filter(({ opens }) => opens === 1).map(({ source }) => source));
  const sources = new Set(slices.map(({ source }) => source));
  for (const source of sources)
    if (!known.has(source) && hasExchange.get(source, FIRST_DRAWERS) !== 1) sources.delete(source);
  return new Set(slices.filter(({ source, opens }) => opens === 0 && sources.has(source)).map(({ row }) => row));
}

/** Returns the first row of the drawer's exchange; undefined if it is too far away or was not filed together with the drawer. */
export function exchangeOf(ledger: LedgerDatabase, { row, text, metadata }: Drawer): number | undefined {
  const { ingest_mode: ingest, extract_mode: extract, source_file: source, chunk_index: index } = metadata;
  if (ingest !== "convos" || extract === "general" || typeof source !== "string" || source === "") return undefined;
  if (text.startsWith(">")) return row;
  const sql = `SELECT row, json_extract(metadata, '$.chunk_index') AS "at" FROM drawer
    WHERE row BETWEEN $first AND $row AND source_file = $source AND text GLOB '>*' ORDER BY row DESC LIMIT 1`;
  const found = selectRow<{ row: number; at: number }>(ledger, sql, { row, first: row - SLICES_MAX, source });
  return found !== undefined && Number(index) - found.at === row - found.row ? found.row : undefined;
}

/** Number of characters read from an exchange's beginning to find the user's words. */
const SAID_READ = 600;

/** Returns the transcripts' slices among `rows`. `said`: first line of the slice's exchange (the user's words), without `>`. */
export function talkSlices(ledger: LedgerDatabase, rows: readonly number[]): TalkSlice[] {
  const slices = ledger
    .prepare<[number, string], Omit<TalkSlice, "opening" | "said"> & { opening: number | null }>(
      `SELECT row, source_file AS source, wing, (SELECT row FROM drawer AS other WHERE other.row BETWEEN drawer.row - ? AND drawer.row
           AND other.source_file = drawer.source_file AND other.text GLOB '>*' ORDER BY other.row DESC LIMIT 1) AS opening
       FROM drawer WHERE row IN (SELECT value FROM json_each(?)) AND source_file <> ''
         AND instr(metadata, '"extract_mode":"exchange"') > 0 ORDER BY row`,
    )
    .all(SLICES_MAX, JSON.stringify(rows));
  const openings = [...new Set(slices.map(({ opening }) => opening))];
  const sql = "SELECT row, substr(text, 1, ?) AS said FROM drawer WHERE row IN (SELECT value FROM json_each(?))";
  const said = selectRows<{ row: number; said: string }>(ledger, sql, SAID_READ, JSON.stringify(openings));
  const saidAt = new Map(said.map((one) => [one.row, saidIn(one.said)]));
  return slices.flatMap(({ opening, ...slice }) =>
    opening === null ? [] : [{ ...slice, opening, said: saidAt.get(opening) ?? "" }],
  );
}

function saidIn(text: string): string {
  const end = text.indexOf("\n");
  return text.slice(1, end === -1 ? undefined : end).trim();
}
