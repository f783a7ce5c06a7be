/**
 * Lists sources that only MemPalace's miners have filed. The metadata of the adopted drawers show which version of the file was mined
 * (Source: palace.md 5.2 and 5.3; `file_already_mined` of 3.11).
 */
import { MODE_SEPARATOR, type MinedPage, type MinedQuery, type MinedRow } from "../../port/source.ts";
import type { Miner } from "../../../protocol/filing.ts";
import type { LedgerDatabase } from "../open.ts";
import { selectRows, selectValues } from "../select.ts";

/** Minimum version of a drawer that is not stale. MemPalace 3.12 writes 3, which is current, too. */
const NORMALIZE_VERSION = 2;
const CHUNKER_VERSION = 2;

const of = (key: string): string => `json_extract(d.metadata, '$.${key}')`;
const IS_OF_CONVERSATION = `${of("ingest_mode")} IN ('convos', 'registry')`;
/** Selects drawers of a current version of the miner, and of MemPalace 3.3.6, which does not store the file's time. */
const IS_CURRENT = `(${of("convo_chunker_version")} >= ${CHUNKER_VERSION} OR ${of("source_mtime")} IS NULL)`;

/** Conditions that select each miner's drawers. Another miner's drawers of the same file do not count. */
const RULES: Readonly<Record<Miner, string>> = {
  projects: `${of("ingest_mode")} IS NULL AND ${of("source_mtime")} IS NOT NULL`,
  formats: `${of("extract_mode")} = 'format' AND ${of("source_mtime")} IS NOT NULL`,
  exchange: `${IS_OF_CONVERSATION} AND coalesce(${of("extract_mode")}, 'exchange') = 'exchange' AND ${IS_CURRENT}`,
  general: `${IS_OF_CONVERSATION} AND ${of("extract_mode")} = 'general'`,
};

/** Number of sources per step. Together they mostly have some thousands of drawers, so a step takes tens of milliseconds. */
const SOURCES_PER_PAGE = 200;

/** Returns a page of sources. Skips a source with fewer drawers than `chunk_total`: MemPalace may have been killed while it filed them. */
export function minedSources(ledger: LedgerDatabase, { wing, miner, below, after }: MinedQuery): MinedPage {
  const folder = below.endsWith("/") ? below : `${below}/`;
  const mark = miner === "general" ? `${MODE_SEPARATOR}${miner}` : "";
  const bounds = { after: after ?? folder, end: `${folder.slice(0, -1)}0`, mark };
  // Reads names from an index and skips sources with a filing record, so that few drawers have to be read.
  const nameSql = `SELECT DISTINCT source_file FROM drawer d INDEXED BY drawer_source
    WHERE source_file > @after AND source_file < @end AND source_file <> ''
      AND NOT EXISTS (SELECT 1 FROM source s
        WHERE s.source_file = d.source_file || @mark AND (s.sha256 <> '' OR s.mtime <> 0))
    ORDER BY source_file LIMIT ${SOURCES_PER_PAGE}`;
  const names = selectValues<string>(ledger, nameSql, bounds);
  const sql = `SELECT d.source_file AS sourceFile, ${of("source_mtime")} AS mtime, min(${of("filed_at")}) AS filedAt
    FROM drawer d INDEXED BY drawer_source
    WHERE d.source_file IN (SELECT value FROM json_each(?)) AND d.source_file <> '' AND d.wing = ?
      AND ${of("normalize_version")} >= ${NORMALIZE_VERSION} AND ${RULES[miner]}
    GROUP BY 1, 2 HAVING count(*) >= min(coalesce(${of("chunk_total")}, 0))`;
  const rows = selectRows<MinedRow>(ledger, sql, JSON.stringify(names), wing);
  return { rows, last: names.length < SOURCES_PER_PAGE ? undefined : names.at(-1) };
}
