/**
 * Adopts rows that other programs wrote into the palace. A batch is one transaction. After a kill the broker reads the palace again:
 * adopting a row twice has no effect. A drawer with an unsent change in the ledger is newer, so it is not overwritten.
 */
import { faultPoint } from "../../../base/fault-point.ts";
import type { Changes } from "../../port/ledger.ts";
import type { AdoptionBatch, ForeignRow } from "../../port/public-palace.ts";
import type { LedgerDatabase } from "../open.ts";
import { isSameRow } from "../record.ts";
import type { LedgerTables } from "../tables/tables.ts";
import type { OutboxList } from "./outbox-list.ts";

export class RowAdopter {
  readonly #tx: LedgerTables;
  readonly #outbox: OutboxList;
  readonly #hasVector;
  readonly #rowOf;

  constructor(database: LedgerDatabase, tx: LedgerTables, outbox: OutboxList) {
    this.#tx = tx;
    this.#outbox = outbox;
    this.#hasVector = database.prepare<[number], number>("SELECT 1 FROM vector WHERE row = ?").pluck();
    this.#rowOf = database.prepare<[string], number>("SELECT row FROM drawer WHERE id = ?").pluck();
  }

  /** Adopts one batch. If it throws, the whole batch is rolled back. */
  commit(
    batch: AdoptionBatch,
    group: (work: () => void) => void,
    recordModel: (model: string) => void,
    putVector: (row: number, vector: Float32Array) => void,
  ): { taken: number; changes: Changes } {
    let taken = 0;
    const embedded: number[] = [];
    try {
      group(() => {
        if (batch.model !== undefined) recordModel(batch.model);
        for (const row of batch.rows) if (this.#take(row, putVector, embedded)) taken += 1;
        for (const id of batch.removed) if (this.#remove(id)) taken += 1;
        this.#tx.keepChanges();
        faultPoint("take-over.before-commit");
      });
    } catch (error) {
      this.#tx.takeChanges();
      throw error;
    }
    faultPoint("take-over.after-commit");
    const changes = this.#tx.takeChanges();
    return { taken, changes: { ...changes, written: [...new Set([...changes.written, ...embedded])] } };
  }

  #take(row: ForeignRow, putVector: (row: number, vector: Float32Array) => void, embedded: number[]): boolean {
    const wasListed = this.#outbox.has(row.id);
    if (!this.#file(row)) return false;
    const at = this.#rowOf.get(row.id);
    if (at !== undefined && row.vector !== undefined && this.#hasVector.get(at) === undefined) {
      putVector(at, row.vector);
      embedded.push(at);
    }
    const hasVector = at !== undefined && this.#hasVector.get(at) !== undefined;
    // The palace has this row, so the row leaves the outbox, unless the ledger has a vector that the palace lacks. A row without a vector
    // returns to the outbox when it gets one.
    const lacksOurVector = hasVector && wasListed && row.vector === undefined;
    if (!lacksOurVector) this.#outbox.unlist(row.id);
    if (!hasVector || lacksOurVector) this.#tx.adopted.put(row.id, row);
    faultPoint("take-over.after-row");
    return true;
  }

  #remove(id: string): boolean {
    const known = this.#tx.findDrawer(id);
    if (known === undefined) return false;
    if (this.#outbox.has(id) && !this.#tx.adopted.holds(id, known)) return false;
    this.#tx.deleteDrawer(id);
    this.#outbox.unlist(id);
    return true;
  }

  /** Files the row in the ledger. Returns false if the ledger already has the same row or a newer one. */
  #file({ id, text, metadata }: ForeignRow): boolean {
    const isListed = this.#outbox.has(id);
    const known = this.#tx.findDrawer(id);
    if (known === undefined) {
      if (isListed) return false;
      this.#tx.insertDrawers([{ id, text, metadata }]);
      return true;
    }
    const isSame = isSameRow(known, { text, metadata });
    const isSent = !isListed && this.#hasVector.get(known.row) !== undefined;
    if (!isSent && !this.#tx.adopted.holds(id, known)) {
      // The ledger's row was not sent. If an equal row is not in the outbox, it was adopted before; any other row of the ledger is newer.
      if (isSame && !isListed) this.#tx.adopted.put(id, known);
      return false;
    }
    if (isSame) return false;
    this.#tx.updateDrawer(id, { text, metadata });
    return true;
  }
}
