/** Palace driver in memory. It passes the same contract tests as chroma.ts (test/contract/palace-driver.test.ts). */
import type { PlaceFilter } from "../../src/memory/port/drawer.ts";
import type { PalaceDriver, PalaceRecord } from "../../src/memory/port/public-palace.ts";
import { PalaceError } from "../../src/base/errors.ts";
import { objectionTo } from "../../src/mempalace/driver/limits.ts";

export type MemoryDriverOptions = { target?: string; recordsMax?: number };

export class MemoryDriver implements PalaceDriver {
  readonly kind = "memory";
  readonly target: string;
  readonly collectionId: undefined;
  readonly recordsMax: number;
  readonly #records = new Map<string, PalaceRecord>();
  #open = false;

  constructor({ target = "memory", recordsMax = 100 }: MemoryDriverOptions = {}) {
    this.target = target;
    this.recordsMax = recordsMax;
  }

  open(): Promise<void> {
    this.#open = true;
    return Promise.resolve();
  }

  async upsert(records: readonly PalaceRecord[]): Promise<void> {
    await this.#ready();
    const dimensions = (this.#records.values().next().value ?? records[0])?.vector.length;
    for (const record of records) {
      const objection =
        objectionTo(record, false) ??
        (record.vector.length === dimensions ? undefined : `its vector has not ${dimensions} dimensions`);
      if (objection !== undefined) throw new PalaceError("CONFIG_BAD_VALUE", `${record.id}: ${objection}`, "");
    }
    for (const record of records) this.#records.set(record.id, structuredClone(record));
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.#ready();
    for (const id of ids) this.#records.delete(id);
  }

  async count(): Promise<number> {
    await this.#ready();
    return this.#records.size;
  }

  async ids(offset: number, limit: number): Promise<string[]> {
    await this.#ready();
    return [...this.#records.keys()].slice(offset, offset + limit);
  }

  async query(vector: Float32Array, filter: PlaceFilter, limit: number): Promise<{ id: string; cosine: number }[]> {
    await this.#ready();
    return [...this.#records.values()]
      .filter(({ metadata }) => filter.wing === undefined || metadata["wing"] === filter.wing)
      .filter(({ metadata }) => filter.room === undefined || metadata["room"] === filter.room)
      .map((record) => ({ id: record.id, cosine: cosine(vector, record.vector) }))
      .sort((a, b) => b.cosine - a.cosine)
      .slice(0, limit);
  }

  close(): Promise<void> {
    this.#open = false;
    return Promise.resolve();
  }

  read(id: string): PalaceRecord | undefined {
    return this.#records.get(id);
  }

  /** Fails if the palace is not open. Every method awaits this promise, so that no caller relies on an immediate answer. */
  #ready(): Promise<void> {
    if (this.#open) return Promise.resolve();
    return Promise.reject(new PalaceError("STORE_UNAVAILABLE", "the palace is not open", ""));
  }
}

function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i += 1) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / Math.sqrt(aa * bb);
}
