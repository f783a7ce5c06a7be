/**
 * Reads the journal for `palace history`. Runs on the broker's main thread, as reader.ts does: a page looks at a bounded
 * number of rows.
 */
import type { AuditEntry, AuditPage, AuditRequest } from "../../protocol/hygiene.ts";
import type { LedgerDatabase } from "../open.ts";

/** Rows that one page examines, whoever wrote them: a few milliseconds. */
const LOOKED_AT_MAX = 5_000;

type Row = Omit<AuditEntry, "arguments" | "claimed_ms"> & { claimed_ms: number | null; arguments: string };

export class SqliteJournalReader {
  readonly #database: LedgerDatabase;

  constructor(database: LedgerDatabase) {
    this.#database = database;
  }

  page({ agent, tool, sinceMs = 0, before, limit }: AuditRequest): AuditPage {
    const top = before ?? this.#edge("max") + 1;
    const floor = Math.max(top - LOOKED_AT_MAX, 0);
    const rows = this.#database
      .prepare<unknown[], Row>(
        `SELECT seq, at_ms, claimed_ms, agent, door, uid, pid, method, request_id, arguments FROM journal
           LEFT JOIN journal_claim ON journal_claim.journal = journal.seq
         WHERE seq >= ? AND seq < ? AND at_ms >= ? ${agent === undefined ? "" : "AND agent = ?"} ${tool === undefined ? "" : "AND method = ?"}
         ORDER BY seq DESC LIMIT ?`,
      )
      .all(...[floor, top, sinceMs, agent, tool, limit].filter((value) => value !== undefined));
    const last = rows.length === limit ? (rows.at(-1)?.seq ?? 0) : floor;
    return {
      entries: rows.map(toEntry),
      next: last > this.#edge("min") && !this.#isOlder(last, sinceMs) ? last : null,
    };
  }

  #edge(which: "min" | "max"): number {
    return this.#database.prepare<[], number | null>(`SELECT ${which}(seq) FROM journal`).pluck().get() ?? 0;
  }

  /** True when every row below `seq` arrived before the moment. */
  #isOlder(seq: number, sinceMs: number): boolean {
    const below = this.#database
      .prepare<[number], number>("SELECT at_ms FROM journal WHERE seq < ? ORDER BY seq DESC LIMIT 1")
      .pluck()
      .get(seq);
    return below === undefined || below < sinceMs;
  }
}

function toEntry({ claimed_ms: claimedMs, arguments: asked, ...row }: Row): AuditEntry {
  return {
    ...row,
    ...(claimedMs !== null && { claimed_ms: claimedMs }),
    arguments: JSON.parse(asked) as Record<string, unknown>,
  };
}
