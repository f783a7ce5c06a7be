/** Test doubles for the outbox: the list of drawers to send, a clock that does not wait, and a driver that fails on demand. */
import type { PlaceFilter } from "../../src/memory/port/drawer.ts";
import type { OutboxEntry, OutboxSource, PalaceDriver, PalaceRecord } from "../../src/memory/port/public-palace.ts";
import type { OutboxClock } from "../../src/mempalace/outbox.ts";

/** List of drawers to send, in memory. It follows the ledger's rules. */
export class MemoryOutboxSource implements OutboxSource {
  readonly drawers = new Map<string, PalaceRecord>();
  readonly #list = new Map<string, { seq: number; atMs: number }>();
  readonly #awaiting = new Set<string>();
  #seq = 0;
  #target: string | undefined;
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  write(record: PalaceRecord): void {
    this.drawers.set(record.id, record);
    this.#awaiting.delete(record.id);
    this.#listAgain(record.id);
  }

  /** Writes a drawer that waits for its vector. */
  writeWithoutVector(id: string): void {
    this.#awaiting.add(id);
  }

  delete(id: string): void {
    this.drawers.delete(id);
    this.#listAgain(id);
  }

  peek(limit: number): OutboxEntry[] {
    return [...this.#list]
      .sort(([, a], [, b]) => a.seq - b.seq)
      .slice(0, limit)
      .map(([id, { seq }]) => ({ seq, id, record: this.drawers.get(id) ?? null }));
  }

  async done(entries: readonly { id: string; seq: number }[]): Promise<void> {
    await Promise.resolve();
    for (const { id, seq } of entries) if (this.#list.get(id)?.seq === seq) this.#list.delete(id);
  }

  lag(): { entries: number; oldestAtMs: number | null; awaitingVector: number } {
    const oldestAtMs = this.#list.size === 0 ? null : Math.min(...[...this.#list.values()].map(({ atMs }) => atMs));
    return { entries: this.#list.size, oldestAtMs, awaitingVector: this.#awaiting.size };
  }

  async retarget(target: string): Promise<void> {
    await Promise.resolve();
    if (target === this.#target) return;
    this.#target = target;
    for (const id of this.drawers.keys()) this.#listAgain(id);
  }

  #listAgain(id: string): void {
    this.#seq += 1;
    this.#list.set(id, { seq: this.#seq, atMs: this.#now() });
  }
}

/** Clock that does not wait: sleeping moves its time forward at once. */
export class QuickClock implements OutboxClock {
  readonly sleeps: number[] = [];
  #nowMs = 1_000_000;

  now(): number {
    return this.#nowMs;
  }

  random(): number {
    return 0.5;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) return;
    this.sleeps.push(ms);
    this.#nowMs += ms;
  }
}

/** When a call fails: before it changes anything, after all changes (the answer is lost), or after half of them. */
export type Mishap = "before" | "after" | "half";
export type Call = { op: "open" | "upsert" | "remove"; ids: string[] };

/** Wraps a driver. `mishap` returns how the next call must fail, or undefined if it must not fail. */
export class FlakyDriver implements PalaceDriver {
  readonly kind = "memory";
  readonly calls: Call[] = [];
  readonly #inner: PalaceDriver;
  readonly #mishap: (call: Call) => { how: Mishap; error: Error } | undefined;

  constructor(inner: PalaceDriver, mishap: (call: Call) => { how: Mishap; error: Error } | undefined) {
    this.#inner = inner;
    this.#mishap = mishap;
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

  open(): Promise<void> {
    return this.#try({ op: "open", ids: [] }, () => this.#inner.open());
  }

  upsert(records: readonly PalaceRecord[]): Promise<void> {
    const ids = records.map(({ id }) => id);
    return this.#try({ op: "upsert", ids }, (count) => this.#inner.upsert(records.slice(0, count)));
  }

  remove(ids: readonly string[]): Promise<void> {
    return this.#try({ op: "remove", ids: [...ids] }, (count) => this.#inner.remove(ids.slice(0, count)));
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

  async #try(call: Call, act: (count: number) => Promise<void>): Promise<void> {
    this.calls.push(call);
    const mishap = this.#mishap(call);
    if (mishap?.how !== "before") await act(mishap?.how === "half" ? call.ids.length >> 1 : call.ids.length);
    if (mishap !== undefined) throw mishap.error;
  }
}
