/**
 * Takes what is deleted out of the ledger's bytes: full-text segments keep words of deleted rows until they are merged, pages
 * keep deleted cells, and copies of moved ones, until the file is written anew, the log keeps pages until it is cut. Slow, a full
 * rewrite, and therefore done for what is forgotten, or when asked for (`palace compact`). On the writer thread; a kill at any step leaves the list of what is
 * to be erased, and all of it is done again.
 */
import { statSync } from "node:fs";
import { faultPoint } from "../../platform/fault.ts";
import { type LedgerDatabase, translateError } from "../open.ts";
import type { Maintenance } from "./maintenance.ts";

/** A larger file is rewritten by way of a file, not of memory. */
const MEMORY_MAX_BYTES = 256 * 1024 * 1024;

export type LedgerSpace = { sizeBytes: number; freeBytes: number };

export class LedgerEraser {
  readonly #database: LedgerDatabase;
  readonly #maintenance: Maintenance;
  readonly #group: (work: () => void) => void;

  constructor(database: LedgerDatabase, maintenance: Maintenance, group: (work: () => void) => void) {
    this.#database = database;
    this.#maintenance = maintenance;
    this.#group = group;
  }

  /** The size of the ledger without its log, and how much of that holds nothing. */
  space(): LedgerSpace {
    const [sizeBytes = 0, freeBytes = 0] = ["page_count", "freelist_count"].map(
      (count) => this.#pragmaNumber(count) * this.#pragmaNumber("page_size"),
    );
    return { sizeBytes, freeBytes };
  }

  #pragmaNumber(name: string): number {
    return this.#database.pragma(name, { simple: true }) as number;
  }

  /** Errors: STORE_*; the list stays. Takes as long as copying the file twice, and as much room for that time. */
  rewrite(): void {
    const database = this.#database;
    while (this.#maintenance.indexSources());
    for (const table of ["drawer_fts", "source_fts"])
      this.#group(() => void database.prepare(`INSERT INTO ${table} (${table}) VALUES ('optimize')`).run());
    faultPoint("erase.before-rewrite");
    if (statSync(database.name).size > MEMORY_MAX_BYTES) database.pragma("temp_store = FILE");
    // A ledger of before gives free pages back a few at a time from now on.
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

  /** Cuts the log to nothing; false while a reader is in it. */
  cutLog(): boolean {
    const [state] = this.#database.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    return state?.busy === 0;
  }

  /** Everything is erased: the list of what was, too. */
  done(seq: number): void {
    const database = this.#database;
    // Overwritten with zeros, since nothing is rewritten after it.
    database.pragma("secure_delete = ON");
    try {
      this.#group(() => void database.prepare("DELETE FROM erasure WHERE seq <= ?").run(seq));
    } finally {
      database.pragma("secure_delete = OFF");
    }
  }
}
