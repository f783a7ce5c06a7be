/** Wraps a palace driver and counts the records that it writes. If the palace's sequence number grows by more, a foreign writer wrote. */
import type { PlaceFilter } from "../../memory/port/drawer.ts";
import type { PalaceDriver, PalaceRecord } from "../../memory/port/public-palace.ts";

export type SentCounts = {
  /** Number of records that were written and acknowledged. */
  done: number;
  /** Number of records with an unknown outcome, because the call failed. */
  unsure: number;
  busy: boolean;
  /** Number of times that the palace was opened again after a failure or a repair. */
  reconnects: number;
};

export const NOTHING_SENT: Readonly<SentCounts> = { done: 0, unsure: 0, busy: false, reconnects: 0 };

export class CountedDriver implements PalaceDriver {
  readonly #inner: PalaceDriver;
  /** Driver of the palace's first collection. All collections of a palace share its counts and its queue: only one write runs at a time. */
  readonly #first: CountedDriver;
  readonly #sent: SentCounts;
  #turn: Promise<unknown> = Promise.resolve();
  #failed = false;
  #repairs = 0;
  openError: unknown;
  /** Called after opening and after each write, when no write runs. Must be quick and must not throw. */
  onQuiet: () => void = () => {};

  /** Wraps `inner`. `beside`: the driver of the palace's first collection, if this driver serves another collection. */
  constructor(inner: PalaceDriver, beside?: CountedDriver) {
    this.#inner = inner;
    this.#first = beside ?? this;
    this.#sent = beside !== undefined ? beside.#sent : { ...NOTHING_SENT };
  }

  get sent(): Readonly<SentCounts> {
    return this.#sent;
  }

  get kind(): PalaceDriver["kind"] {
    return this.#inner.kind;
  }

  get target(): string {
    return this.#inner.target;
  }

  get collectionId(): string | undefined {
    return this.#inner.collectionId;
  }

  get recordsMax(): number {
    return this.#inner.recordsMax;
  }

  async open(): Promise<void> {
    try {
      await this.#inner.open();
    } catch (error) {
      this.#failed = true;
      this.openError = error;
      throw error;
    }
    this.openError = undefined;
    const repairs = this.#inner.repairs ?? 0;
    if (this.#failed || repairs !== this.#repairs) this.#sent.reconnects += 1;
    this.#repairs = repairs;
    this.#failed = false;
    this.#quiet();
  }

  upsert(records: readonly PalaceRecord[]): Promise<void> {
    return this.#count(new Set(records.map(({ id }) => id)).size, () => this.#inner.upsert(records));
  }

  remove(ids: readonly string[]): Promise<void> {
    return this.#count(new Set(ids).size, () => this.#inner.remove(ids));
  }

  count(): Promise<number> {
    return this.#inner.count();
  }

  ids(offset: number, limit: number): Promise<string[]> {
    return this.#inner.ids(offset, limit);
  }

  query(vector: Float32Array, filter: PlaceFilter, limit: number): Promise<{ id: string; cosine: number }[]> {
    return this.#inner.query(vector, filter, limit);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #count(records: number, write: () => Promise<void>): Promise<void> {
    const counted = this.#first.#turn.then(() => this.#countNow(records, write));
    this.#first.#turn = counted.catch(() => {});
    return counted;
  }

  #quiet(): void {
    if (!this.#sent.busy) this.#first.onQuiet();
  }

  async #countNow(records: number, write: () => Promise<void>): Promise<void> {
    this.#sent.busy = true;
    try {
      await write();
      this.#sent.done += records;
    } catch (error) {
      this.#sent.unsure += records;
      this.#failed = true;
      throw error;
    } finally {
      this.#sent.busy = false;
      this.#quiet();
    }
  }
}
