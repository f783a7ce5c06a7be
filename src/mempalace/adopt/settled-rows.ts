/** Finds settled rows that the palace lacks. A row is settled if it has its vector and does not wait to be sent. */
import type { LedgerDatabase } from "../../memory/ledger/open.ts";
import type { ChromaCollection, ChromaDatabase } from "../format/chroma-file.ts";
import { presentIds } from "../format/palace-file.ts";

export type RowKind = "drawers" | "closets";

const SETTLED: Readonly<Record<RowKind, string>> = {
  drawers: `SELECT c.row, c.id FROM drawer c JOIN vector v ON v.row = c.row
    WHERE NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = c.id)`,
  closets: `SELECT c.row, c.id FROM closet c
    WHERE c.vector IS NOT NULL AND NOT EXISTS (SELECT 1 FROM closet_outbox o WHERE o.id = c.id)`,
};

const PAGE_ROWS = 200;

export type Sides = {
  palace: ChromaDatabase;
  /** Undefined if the palace does not have the collection. */
  collection: ChromaCollection | undefined;
  ledger: LedgerDatabase;
  kind: RowKind;
};

/** Returns the ids of settled rows that the palace lacks, in filing order. Stops soon after `max` ids. */
export function absentIds({ palace, collection, ledger, kind }: Sides, max = Number.POSITIVE_INFINITY): string[] {
  const next = ledger.prepare<[number, number], { row: number; id: string }>(
    `${SETTLED[kind]} AND c.row > ? ORDER BY c.row LIMIT ?`,
  );
  const absent: string[] = [];
  for (let after = 0; absent.length < max;) {
    const page = next.all(after, PAGE_ROWS);
    if (page.length === 0) break;
    after = page.at(-1)?.row ?? after;
    const ids = page.map(({ id }) => id);
    const there = collection === undefined ? new Set() : presentIds(palace, collection, ids);
    absent.push(...ids.filter((id) => !there.has(id)));
  }
  if (absent.length === 0) return [];
  // Asks the ledger again, because a row may have been changed or deleted there during the read.
  const settled = ledger.prepare<[string], { id: string }>(
    `${SETTLED[kind]} AND c.id IN (SELECT value FROM json_each(?))`,
  );
  const still = new Set(settled.all(JSON.stringify(absent)).map(({ id }) => id));
  return absent.filter((id) => still.has(id));
}
