/**
 * Compares the public palace with the ledger, row by row. Uses no earlier results, so the result is right after any crash. Palace and
 * ledger change meanwhile, so the ledger is read again after the palace: a drawer must be in the palace from the moment its entry leaves
 * the outbox until the outbox lists its removal.
 */
import type { LedgerDatabase } from "../../memory/ledger/open.ts";
import { place } from "../../memory/ledger/record.ts";
import { hasForeign, type Horizon } from "../adopt/foreign-rows.ts";
import { absentIds } from "../adopt/settled-rows.ts";
import {
  type ChromaCollection,
  type ChromaDatabase,
  CLOSETS,
  countUnindexed,
  readChroma,
  readCollections,
} from "../format/chroma-file.ts";
import { countInexact, countRows, presentIds } from "../format/palace-file.ts";
import { selectRows } from "../../memory/ledger/select.ts";

export type CompareInput = {
  palaceDir: string;
  /** Id of the collection that the driver writes; undefined if the driver has no collection in this palace. */
  ours: string | undefined;
  /** The palace's sequence number when this broker first looked. Later rows have a higher number. */
  sinceSeq: number;
  adopt?: string | undefined;
  horizon?: Horizon;
};

export type Comparison = {
  /** Number of foreign rows in each collection that has any. */
  collections: { name: string; rows: number }[];
  /** Number of foreign rows written after `sinceSeq`. */
  recent: number;
  newestAtMs: number | null;
  /** Number of our drawers that differ in the palace. */
  changed: number;
  /** Ids of our drawers that the palace lacks; at most about MISSING_MAX. */
  missing: string[];
  /** Number of rows in our collection whose vector is not in the index. */
  unindexed: number;
  /** True if the palace has rows or changes that the ledger should adopt. */
  isForeign: boolean;
  rows: number;
  /** Number of rows with a number in their metadata that an export or a repair would change slightly. */
  inexact: number;
  /** Undefined if closets are not adopted. */
  closets: ClosetComparison | undefined;
};

/** Maximum time to wait for another process's commit, ms. Chroma waits as long. */
const BUSY_TIMEOUT_MS = 5_000;
/** Number of rows in one read. It is small, so that a writer of the palace waits at most one or two milliseconds. */
const PAGE_ROWS = 200;
/** Maximum number of missing drawers in one result. The next comparison returns the others. */
const MISSING_MAX = 20_000;

type PalaceRow = { row: number; id: string; seq: number; createdAt: string };
type Content = { text: string | null; wing: string | null; room: string | null };
/** Row of the ledger. `settled`: the palace must have exactly this row, because the outbox lists no change of it and its vector exists. */
type OurRow = { id: string; settled: boolean; text: string | null; wing: string | null; room: string | null };

/** Compares all collections. Returns undefined if no palace exists. Errors: SQLite's, for either file. */
export function comparePalace(input: CompareInput, ledger: LedgerDatabase): Comparison | undefined {
  return readChroma(input.palaceDir, BUSY_TIMEOUT_MS, (palace) => {
    const result: Comparison = {
      ...{
        collections: [],
        recent: 0,
        newestAtMs: null,
        changed: 0,
        missing: [],
        unindexed: 0,
        isForeign: false,
        rows: 0,
        inexact: 0,
        closets: undefined,
      },
    };
    const collections = readCollections(palace);
    for (const collection of collections) {
      // `compareClosets` compares the closets. Other collections have none of our rows.
      if (input.adopt !== undefined && collection.id !== input.adopt) continue;
      const rows = compareCollection(input, collection, palace, ledger, result);
      if (rows > 0) result.collections.push({ name: collection.name, rows });
    }
    const adopted = collections.find(({ id }) => id === input.adopt);
    if (adopted !== undefined) result.rows = countRows(palace, adopted);
    if (adopted !== undefined) result.inexact = countInexact(palace, adopted);
    if (adopted !== undefined && input.horizon !== undefined)
      result.isForeign = hasForeign({
        palace,
        palaceDir: input.palaceDir,
        collection: adopted,
        ledger,
        horizon: input.horizon,
      });
    const own = collections.find(({ id }) => id === input.ours);
    if (own !== undefined) {
      result.missing = absentIds({ palace, collection: own, ledger, kind: "drawers" }, MISSING_MAX);
      result.unindexed = countUnindexed(palace, input.palaceDir, own);
    }
    if (input.adopt !== undefined && input.horizon !== undefined) {
      const { palaceDir, horizon } = input;
      const isOurs = own !== undefined;
      result.closets = compareClosets(palace, palaceDir, collections, ledger, { horizon, isOurs });
    }
    return result;
  });
}

/** Returns the number of foreign rows of a collection, and adds all findings to `result`. */
function compareCollection(
  { ours, sinceSeq }: CompareInput,
  collection: ChromaCollection,
  palace: ChromaDatabase,
  ledger: LedgerDatabase,
  result: Comparison,
): number {
  let foreign = 0;
  for (let after = -1; ;) {
    const page = pageOf(palace, collection, after);
    if (page.length === 0) return foreign;
    after = page.at(-1)?.row ?? after;
    const known = ledgerRows(ledger, page);
    const unknown = page.filter(({ id }) => !known.has(id));
    // Asks the palace again: a drawer that left ledger and palace between the two reads is not foreign.
    const still = presentIds(
      palace,
      collection,
      unknown.map(({ id }) => id),
    );
    for (const { id, seq, createdAt } of unknown) {
      if (!still.has(id)) continue;
      foreign += 1;
      if (seq > sinceSeq) result.recent += 1;
      // SQLite's CURRENT_TIMESTAMP is UTC without a zone.
      result.newestAtMs = Math.max(result.newestAtMs ?? 0, Date.parse(`${createdAt.replace(" ", "T")}Z`) || 0);
    }
    if (collection.id === ours) result.changed += countChanged(page, known, palace, ledger);
  }
}

function countChanged(
  page: readonly PalaceRow[],
  known: ReadonlyMap<string, OurRow>,
  palace: ChromaDatabase,
  ledger: LedgerDatabase,
): number {
  const settled = page.filter(({ id }) => known.get(id)?.settled === true);
  const theirs = contentOf(palace, settled);
  const suspects = settled.filter(({ id, row }) => isOther(theirs.get(row), known.get(id)));
  if (suspects.length === 0) return 0;
  const after = ledgerRows(ledger, suspects);
  return suspects.filter(({ id, row }) => after.get(id)?.settled === true && isOther(theirs.get(row), after.get(id)))
    .length;
}

function pageOf(palace: ChromaDatabase, { metadataSegment }: ChromaCollection, after: number): PalaceRow[] {
  const sql = `SELECT e.id AS row, e.embedding_id AS id, CAST(e.seq_id AS INTEGER) AS seq, e.created_at AS createdAt
    FROM embeddings e WHERE e.id > ? AND e.segment_id = ? ORDER BY e.id LIMIT ?`;
  return selectRows<PalaceRow>(palace, sql, after, metadataSegment, PAGE_ROWS);
}

function contentOf(palace: ChromaDatabase, rows: readonly PalaceRow[]): Map<number, Content> {
  const values = selectRows<{ row: number; key: string; value: string | null }>(
    palace,
    `SELECT id AS row, key, string_value AS value FROM embedding_metadata
         WHERE id IN (SELECT value FROM json_each(?)) AND key IN ('chroma:document', 'wing', 'room')`,
    JSON.stringify(rows.map(({ row }) => row)),
  );
  const found = new Map<number, Content>();
  for (const { row, key, value } of values) {
    const content = found.get(row) ?? { text: null, wing: null, room: null };
    content[key === "wing" || key === "room" ? key : "text"] = value;
    found.set(row, content);
  }
  return found;
}

/** Returns the ledger's rows for the given ids: drawers, and removals that still wait to be sent. */
function ledgerRows(ledger: LedgerDatabase, rows: readonly { id: string }[]): Map<string, OurRow> {
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const sql = `SELECT d.id, d.text, d.wing, d.room,
       EXISTS (SELECT 1 FROM vector v WHERE v.row = d.row) AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = d.id) AS settled
      FROM drawer d WHERE d.id IN (SELECT value FROM json_each(?))
    UNION ALL
    SELECT o.id, NULL, NULL, NULL, 0 FROM outbox o
      WHERE o.id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM drawer d WHERE d.id = o.id)`;
  const found = selectRows<Omit<OurRow, "settled"> & { settled: number }>(ledger, sql, ids, ids);
  return new Map(found.map((row) => [row.id, { ...row, settled: row.settled === 1 }]));
}

/** Returns true if text, wing or room differ. Returns false if one row is absent: such rows are counted as missing. */
function isOther(theirs: Content | undefined, ours: OurRow | undefined): boolean {
  if (theirs === undefined || ours === undefined) return false;
  const { wing, room } = theirs;
  const at = place({ ...(wing !== null && { wing }), ...(room !== null && { room }) });
  return theirs.text !== ours.text || at.wing !== ours.wing || at.room !== ours.room;
}

type ClosetComparison = {
  collectionId: string | undefined;
  isForeign: boolean;
  /** Ids of our closets that the palace lacks. */
  missing: string[];
  /** Number of rows whose vector is not in the index. */
  unindexed: number;
};

/** Compares the closets. `isOurs`: our driver writes this palace, so all closets that it has sent must be in it. */
function compareClosets(
  palace: ChromaDatabase,
  palaceDir: string,
  collections: readonly ChromaCollection[],
  ledger: LedgerDatabase,
  { horizon, isOurs }: { horizon: Horizon; isOurs: boolean },
): ClosetComparison {
  const collection = collections.find(({ name }) => name === CLOSETS);
  const missing = isOurs ? absentIds({ palace, collection, ledger, kind: "closets" }, MISSING_MAX) : [];
  if (collection === undefined) return { collectionId: undefined, isForeign: false, missing, unindexed: 0 };
  return {
    collectionId: collection.id,
    isForeign: hasForeign({ palace, palaceDir, collection, ledger, horizon, kind: "closets" }),
    missing,
    unindexed: countUnindexed(palace, palaceDir, collection),
  };
}
