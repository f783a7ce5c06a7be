/** Stores the vectors of closets, and adopts closets of other programs. */
import { faultPoint } from "../../../base/fault-point.ts";
import type { NewVector } from "../../port/ledger.ts";
import type { AdoptionBatch, ForeignRow } from "../../port/public-palace.ts";
import { readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { CLOSETS } from "../outbox-kinds.ts";
import { floatBytes, isMetadata, isSameRow, place } from "../record.ts";
import { OutboxList } from "./outbox-list.ts";

type Known = { text: string; metadata: string; has: number };

export class ClosetWriter {
  readonly outbox: OutboxList;
  readonly #group: (work: () => void) => void;
  readonly #putVector;
  readonly #recordModel;
  readonly #known;
  readonly #take;
  readonly #remove;

  /** `group` runs its work as one transaction. */
  constructor(database: LedgerDatabase, group: (work: () => void) => void) {
    this.#group = group;
    this.outbox = new OutboxList(database, CLOSETS, group);
    this.#putVector = database.prepare("UPDATE closet SET vector = ? WHERE row = ? AND text_version = ?");
    this.#recordModel = database.prepare("INSERT OR IGNORE INTO meta VALUES ('model', ?)");
    this.#known = database.prepare<[string], Known>(
      "SELECT text, metadata, vector IS NOT NULL AS has FROM closet WHERE id = ?",
    );
    this.#take = database.prepare(
      `INSERT INTO closet (id, wing, room, source_file, text, metadata, vector)
         VALUES (@id, @wing, @room, @sourceFile, @text, @metadata, @bytes)
         ON CONFLICT (id) DO UPDATE SET wing = excluded.wing, room = excluded.room, source_file = excluded.source_file,
           text = excluded.text, metadata = excluded.metadata, vector = excluded.vector, text_version = text_version + 1`,
    );
    this.#remove = database.prepare("DELETE FROM closet WHERE id = ?");
  }

  /** Stores closets' vectors and returns their number. Skips a closet that was deleted or got another text meanwhile. */
  storeVectors(vectors: readonly NewVector[], model: string): number {
    let filed = 0;
    this.#group(() => {
      this.#recordModel.run(model);
      for (const { row, textVersion, vector } of vectors)
        filed += this.#putVector.run(floatBytes(vector), row, textVersion).changes;
      faultPoint("closets.before-vectors");
    });
    return filed;
  }

  /** Adopts closets of other programs, because the broker could not rebuild them. Returns the number of new, changed or removed closets. */
  adopt({ rows, removed, model }: AdoptionBatch): number {
    let taken = 0;
    this.#group(() => {
      if (model !== undefined) this.#recordModel.run(model);
      for (const row of rows) if (this.#takeRow(row)) taken += 1;
      for (const id of removed) {
        if (this.outbox.has(id)) continue;
        taken += this.#remove.run(id).changes;
        this.outbox.unlist(id);
      }
      faultPoint("closets.before-take-over");
    });
    return taken;
  }

  /** Adopts one closet. Returns false if the ledger has the same closet, or an unsent change of it. */
  #takeRow({ id, text, metadata, vector }: ForeignRow): boolean {
    if (this.outbox.has(id)) return false;
    const known = this.#known.get(id);
    if (known !== undefined) {
      const ours = { text: known.text, metadata: readColumn("closet.metadata", known.metadata, isMetadata) };
      if (known.has === 0 || isSameRow(ours, { text, metadata })) return false;
    }
    const bytes = vector === undefined ? null : floatBytes(vector);
    this.#take.run({ id, ...place(metadata), text, metadata: JSON.stringify(metadata), bytes });
    // The palace has the row already, so the row leaves the outbox. A row without a vector returns to the outbox when it gets one.
    this.outbox.unlist(id);
    return true;
  }
}
