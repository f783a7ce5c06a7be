/**
 * Implements LedgerTx over SQLite: what the engine may do inside one write. Assembles the tables, forgetting and undo.
 */
import type { LedgerTx, Derived } from "../../port/ledger.ts";
import { SqliteForget } from "../forget/forget.ts";
import { SqliteUndo } from "../history/undo.ts";
import type { LedgerDatabase } from "../open.ts";
import { LedgerTables } from "../tables/tables.ts";

export class SqliteLedgerTx extends LedgerTables implements LedgerTx {
  readonly forget: SqliteForget;
  readonly undo: SqliteUndo;

  constructor(database: LedgerDatabase, derived?: Derived) {
    super(database, derived);
    this.forget = new SqliteForget(database, this);
    this.undo = new SqliteUndo(database, this);
  }
}
