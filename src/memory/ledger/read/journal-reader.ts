/** Reads the journal for `palace history`. The broker's main thread runs it, so a page examines a limited number of rows. */
import { isRecord } from "../../../base/parse-json.ts";
import type { AuditEntry, AuditPage, AuditRequest } from "../../../protocol/hygiene.ts";
import { readColumn } from "../json-column.ts";
import { defineIsRefusal } from "../history/journal.ts";
import type { LedgerDatabase } from "../open.ts";
import { selectRows, selectValue } from "../select.ts";

/** Maximum number of rows, of any agent, that one page examines. That takes a few milliseconds. */
const LOOKED_AT_MAX = 5_000;

type Row = Omit<AuditEntry, "arguments" | "claimed_ms" | "imported_from"> & {
  claimed_ms: number | null;
  arguments: string;
};
type Imported = Row & { row: number; source: string };

export class SqliteJournalReader {
  readonly #database: LedgerDatabase;

  constructor(database: LedgerDatabase) {
    this.#database = database;
    defineIsRefusal(database);
  }

  page(request: AuditRequest): AuditPage {
    if (request.imported === true) return this.#imported(request);
    const { agent, tool, sinceMs = 0, before, limit } = request;
    const top = before ?? this.#edge("max") + 1;
    const floor = Math.max(top - LOOKED_AT_MAX, 0);
    const rows = selectRows<Row>(
      this.#database,
      `SELECT seq, at_ms, claimed_ms, agent, door, uid, pid, method, request_id, arguments FROM journal
           LEFT JOIN journal_claim ON journal_claim.journal = journal.seq
         WHERE seq >= ? AND seq < ? AND at_ms >= ? AND NOT is_refusal(result) ${agent === undefined ? "" : "AND agent = ?"} ${tool === undefined ? "" : "AND method = ?"}
         ORDER BY seq DESC LIMIT ?`,
      ...[floor, top, sinceMs, agent, tool, limit].filter((value) => value !== undefined),
    );
    const last = rows.length === limit ? (rows.at(-1)?.seq ?? 0) : floor;
    return {
      entries: rows.map(toEntry),
      next: last > this.#edge("min") && !this.#isOlder(last, sinceMs) ? last : null,
    };
  }

  /** Returns a page of imported rows, sorted by time. `before` is the number of the last row of the previous page. */
  #imported({ agent, tool, sinceMs = 0, before, limit }: AuditRequest): AuditPage {
    const sql = "SELECT at_ms FROM imported_journal WHERE row = ?";
    const topMs = before === undefined ? Number.MAX_SAFE_INTEGER : selectValue<number>(this.#database, sql, before);
    // The last row of the previous page was deleted meanwhile, by the retention or by an undo of the import.
    if (topMs === undefined) return { entries: [], next: null };
    const entries: AuditEntry[] = [];
    let looked = 0;
    const rows = this.#database.prepare<[number, number, number], Imported>(
      `SELECT row, source, seq, at_ms, claimed_ms, agent, door, uid, pid, method, request_id, arguments FROM imported_journal
         WHERE (at_ms, row) < (?, ?) AND at_ms >= ? AND NOT is_refusal(result) ORDER BY at_ms DESC, row DESC`,
    );
    for (const { row, source, ...entry } of rows.iterate(topMs, before ?? Number.MAX_SAFE_INTEGER, sinceMs)) {
      const isAsked = [undefined, entry.agent].includes(agent) && [undefined, entry.method].includes(tool);
      if (isAsked) entries.push({ ...toEntry(entry), imported_from: source });
      if (entries.length === limit || ++looked === LOOKED_AT_MAX) return { entries, next: row };
    }
    return { entries, next: null };
  }

  #edge(which: "min" | "max"): number {
    return selectValue<number | null>(this.#database, `SELECT ${which}(seq) FROM journal`) ?? 0;
  }

  #isOlder(seq: number, sinceMs: number): boolean {
    const sql = "SELECT at_ms FROM journal WHERE seq < ? ORDER BY seq DESC LIMIT 1";
    const below = selectValue<number>(this.#database, sql, seq);
    return below === undefined || below < sinceMs;
  }
}

function toEntry({ claimed_ms: claimedMs, arguments: asked, ...row }: Row): AuditEntry {
  return {
    ...row,
    ...(claimedMs !== null && { claimed_ms: claimedMs }),
    arguments: readColumn("journal.arguments", asked, isRecord),
  };
}
