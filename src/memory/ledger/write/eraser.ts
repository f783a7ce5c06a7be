/**
 * Removes deleted data from the ledger's bytes: deleted words stay in full-text segments, and deleted rows in pages and in the log. A
 * rewrite is slow, so it is done only for forgotten texts or on request (`palace repair compact`). After a kill all steps run again.
 */
import { statSync } from "node:fs";
import { faultPoint } from "../../../base/fault-point.ts";
import { type LedgerDatabase, translateError } from "../open.ts";
import { pragmaNumber } from "../select.ts";
import type { Maintenance } from "./maintenance.ts";

/** Size from which the file is rewritten through a temporary file instead of memory. */
const MEMORY_MAX_BYTES = 256 * 1024 * 1024;

export class LedgerEraser {
  readonly #database: LedgerDatabase;
  readonly #maintenance: Maintenance;
  readonly #group: (work: () => void) => void;

  constructor(database: LedgerDatabase, maintenance: Maintenance, group: (work: () => void) => void) {
    this.#database = database;
    this.#maintenance = maintenance;
    this.#group = group;
  }

  /** Returns sizes without the log (`FILE-wal`). */
  space(): { sizeBytes: number; freeBytes: number } {
    const bytesOf = (pages: string): number =>
      pragmaNumber(this.#database, pages) * pragmaNumber(this.#database, "page_size");
    return { sizeBytes: bytesOf("page_count"), freeBytes: bytesOf("freelist_count") };
  }

  /** Rewrites the ledger's file: takes the time and space of copying it twice. Errors: STORE_*; the list of data to erase then stays. */
  rewrite(): void {
    const database = this.#database;
    while (this.#maintenance.indexSources());
    for (const table of ["drawer_fts", "source_fts", "form_fts"])
      this.#group(() => void database.prepare(`INSERT INTO ${table} (${table}) VALUES ('optimize')`).run());
    faultPoint("erase.before-rewrite");
    if (statSync(database.name).size > MEMORY_MAX_BYTES) database.pragma("temp_store = FILE");
    // A ledger that was made without `auto_vacuum` can free single pages after this rewrite.
    database.pragma("auto_vacuum = INCREMENTAL");
    try {
      database.exec("VACUUM");
    } catch (error) {
      throw translateError(error, database.name);
    } finally {
      database.pragma("temp_store = MEMORY");
    }
    faultPoint("erase.after-rewrite");
  }

  /** Empties the log (`FILE-wal`). Returns false if a reader still uses it. */
  cutLog(): boolean {
    const [state] = this.#database.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    return state?.busy === 0;
  }

  /** Removes the entries up to `seq` from the list of data to erase. Call it after that data is erased. */
  done(seq: number): void {
    const database = this.#database;
    // Overwrites the removed entries with zeros, because no rewrite follows.
    database.pragma("secure_delete = ON");
    try {
      this.#group(() => void database.prepare("DELETE FROM erasure WHERE seq <= ?").run(seq));
    } finally {
      database.pragma("secure_delete = OFF");
    }
  }
}
