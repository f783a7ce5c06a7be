/**
 * Removes deleted data from the ledger's bytes: full-text segments keep words of deleted rows until they are merged; pages keep deleted
 * cells, and copies of moved ones, until the file is rewritten; the log keeps pages until it is truncated. It is slow, a full rewrite, and
 * therefore runs only for forgotten texts or on request (`palace repair compact`). Runs on the writer thread; after a kill at any step the
 * list of what to erase is still there, and all of it is done again.
 */
import { statSync } from "node:fs";
import { faultPoint } from "../../../base/fault-point.ts";
import { type LedgerDatabase, translateError } from "../open.ts";
import type { Maintenance } from "./maintenance.ts";

/** A larger file is rewritten through a temporary file instead of memory. */
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

  /** Returns the size of the ledger without its log, and how much of that is free. */
  space(): LedgerSpace {
    const [sizeBytes = 0, freeBytes = 0] = ["page_count", "freelist_count"].map(
      (count) => this.#pragmaNumber(count) * this.#pragmaNumber("page_size"),
    );
    return { sizeBytes, freeBytes };
  }

  #pragmaNumber(name: string): number {
    return this.#database.pragma(name, { simple: true }) as number;
  }

  /** Errors: STORE_*; the list stays. Takes as long as copying the file twice, and as much disk space meanwhile. */
  rewrite(): void {
    const database = this.#database;
    while (this.#maintenance.indexSources());
    for (const table of ["drawer_fts", "source_fts", "form_fts"])
      this.#group(() => void database.prepare(`INSERT INTO ${table} (${table}) VALUES ('optimize')`).run());
    faultPoint("erase.before-rewrite");
    if (statSync(database.name).size > MEMORY_MAX_BYTES) database.pragma("temp_store = FILE");
    // A ledger that was made without it frees pages step by step from now on.
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

  /** Truncates the log; false while a reader uses it. */
  cutLog(): boolean {
    const [state] = this.#database.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    return state?.busy === 0;
  }

  /** Called after everything is erased. Deletes the list of what to erase. */
  done(seq: number): void {
    const database = this.#database;
    // The deleted list is overwritten with zeros, because no rewrite follows.
    database.pragma("secure_delete = ON");
    try {
      this.#group(() => void database.prepare("DELETE FROM erasure WHERE seq <= ?").run(seq));
    } finally {
      database.pragma("secure_delete = OFF");
    }
  }
}
