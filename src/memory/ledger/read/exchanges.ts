/**
 * Finds the exchange that a slice of a transcript is in: it begins with the nearest drawer before it that begins with `> `.
 * Slices are filed in the order of their numbers, so their rows follow each other. Used by reader.ts.
 */
import type { Drawer } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";

/** Slices between a slice and the beginning of its exchange. A loop of tools is longer: its parts are shown one by one. */
const SLICES_MAX = 24;

/**
 * Returns the row in which the drawer's exchange begins; undefined for a drawer that is in none, is far from the
 * beginning, or was not filed together with it.
 */
export function exchangeOf(ledger: LedgerDatabase, { row, text, metadata }: Drawer): number | undefined {
  const { ingest_mode: ingest, extract_mode: extract, source_file: source, chunk_index: index } = metadata;
  if (ingest !== "convos" || extract === "general" || typeof source !== "string" || source === "") return undefined;
  if (text.startsWith(">")) return row;
  const found = ledger
    .prepare<{ row: number; first: number; source: string }, { row: number; at: number }>(
      `SELECT row, json_extract(metadata, '$.chunk_index') AS "at" FROM drawer
       WHERE row BETWEEN $first AND $row AND source_file = $source AND text GLOB '>*' ORDER BY row DESC LIMIT 1`,
    )
    .get({ row, first: row - SLICES_MAX, source });
  return found !== undefined && Number(index) - found.at === row - found.row ? found.row : undefined;
}
