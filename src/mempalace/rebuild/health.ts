/** Reports the health of the ledger and the public palace. It only reads files, and does not use Chroma. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { openForReading, type LedgerDatabase } from "../../memory/ledger/open.ts";
import type { CollectionHealth, LedgerHealth, PalaceHealthReport, PublicHealth } from "../../protocol/spec.ts";
import {
  type ChromaCollection,
  type ChromaDatabase,
  CLOSETS,
  countUnindexed,
  openChroma,
  readCollections,
} from "../format/chroma-file.ts";
import { countRows, readMark, SEQ_MAX, topicOf } from "../format/palace-file.ts";
import { openSegment } from "../format/segment.ts";
import { comparePalace } from "../reconcile/compare.ts";
import { selectValue } from "../../memory/ledger/select.ts";

const BUSY_TIMEOUT_MS = 5_000;

export type HealthInput = { ledgerFile: string; palaceDir: string; collectionId: string | undefined };

export function lookThrough({ ledgerFile, palaceDir, collectionId }: HealthInput): PalaceHealthReport {
  const ledger = openForReading(ledgerFile);
  try {
    return { ledger: lookAtLedger(ledger), palace: lookAtPalace(palaceDir, collectionId, ledger) };
  } finally {
    ledger.close();
  }
}

function lookAtLedger(ledger: LedgerDatabase): LedgerHealth {
  const number = (sql: string): number => selectValue<number | null>(ledger, sql) ?? 0;
  return {
    drawers: number("SELECT count(*) FROM drawer"),
    counted: number("SELECT sum(drawers) FROM place"),
    words: number("SELECT count(*) FROM drawer_fts_docsize"),
    vectors: number("SELECT count(*) FROM vector"),
    codes: number("SELECT count(*) FROM vector_code"),
    pending: number("SELECT count(*) FROM pending_embedding"),
    forgotten: number(
      `SELECT count(*) FROM drawer d WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.row = d.row)
         AND NOT EXISTS (SELECT 1 FROM pending_embedding p WHERE p.row = d.row)`,
    ),
    integrity: quickCheck(ledger),
  };
}

function lookAtPalace(folder: string, collectionId: string | undefined, ledger: LedgerDatabase): PublicHealth {
  const health: PublicHealth = { folder, integrity: "absent", collections: [], difference: null, putAside: [] };
  try {
    health.putAside = readdirSync(folder).filter((name) => /\.(drift|corrupt)-|^before-/.test(name));
    const palace = openChroma(folder, BUSY_TIMEOUT_MS);
    if (palace === undefined) return health;
    try {
      health.integrity = quickCheck(palace);
      health.collections = readCollections(palace).map((one) => ({
        ...lookAtCollection(palace, folder, one),
        space: one.id === collectionId || one.name === CLOSETS ? spaceOf(palace, one.id) : null,
      }));
    } finally {
      palace.close();
    }
    if (collectionId === undefined) return health;
    const found = comparePalace({ palaceDir: folder, ours: collectionId, sinceSeq: 0, adopt: collectionId }, ledger);
    if (found === undefined) return health;
    const awaited = selectValue<number>(ledger, "SELECT count(*) FROM outbox") ?? 0;
    health.difference = {
      missing: found.missing.length,
      changed: found.changed,
      foreign: found.collections.reduce((sum, { rows }) => sum + rows, 0),
      awaited,
    };
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ENOENT") health.integrity = (error as Error).message;
  }
  return health;
}

function lookAtCollection(
  palace: ChromaDatabase,
  folder: string,
  collection: ChromaCollection,
): Omit<CollectionHealth, "space"> {
  const rows = countRows(palace, collection);
  const raw = palace.prepare<[string], unknown>("SELECT seq_id FROM max_seq_id WHERE segment_id = ?").pluck();
  const marks = [raw.get(collection.metadataSegment), raw.get(collection.vectorSegment)];
  const mark = readMark(palace, collection.vectorSegment);
  const sql = "SELECT count(*) FROM embeddings_queue WHERE topic = ? AND seq_id > ?";
  const queued = selectValue<number>(palace, sql, topicOf(collection), mark ?? 0) ?? 0;
  const segment = openSegment(join(folder, collection.vectorSegment));
  const isGone = segment.state === "absent" && mark !== undefined;
  const indexed = segment.state === "whole" ? segment.ids.size : 0;
  const why = segment.state === "torn" ? segment.why : segment.state === "whole" ? segment.stale : undefined;
  const torn = isGone ? "its files are gone" : why;
  if (segment.state === "whole") segment.close();
  const threshold = syncThreshold(palace, collection.id);
  const isFar = Math.abs(rows - indexed) > Math.max(2_000, 2 * threshold, rows / 10);
  return {
    ...{ name: collection.name, rows, indexed, queued, unindexed: countUnindexed(palace, folder, collection) },
    segment: torn === undefined ? segment.state : "torn",
    why: torn ?? "",
    isMarkPoisoned: marks.some((one) => typeof one === "number" && one >= SEQ_MAX),
    state: segment.state !== "whole" || torn !== undefined ? "UNKNOWN" : isFar ? "DIVERGED" : "OK",
  };
}

/** Returns the index's distance function. Palaces from before 3.0 name none: Chroma uses l2, but MemPalace reads the result as a cosine. */
function spaceOf(palace: ChromaDatabase, collectionId: string): string {
  const sql = "SELECT str_value FROM collection_metadata WHERE collection_id = ? AND key = 'hnsw:space'";
  return selectValue<string | null>(palace, sql, collectionId) ?? "l2";
}

function syncThreshold(palace: ChromaDatabase, collectionId: string): number {
  const sql = "SELECT int_value FROM collection_metadata WHERE collection_id = ? AND key = 'hnsw:sync_threshold'";
  return selectValue<number | null>(palace, sql, collectionId) ?? 1_000;
}

function quickCheck(database: LedgerDatabase): string {
  return String(database.pragma("quick_check(1)", { simple: true }));
}
