/** Stores all vectors' int8 codes for the scan. Each takes about 20 more bytes. After a removal, the last code fills the freed slot. */
import type { Code } from "../../../base/quantize.ts";
import type { PlaceFilter } from "../../port/drawer.ts";
import type { Scored } from "../../port/search.ts";
import { BATCH_SLOTS, createScanMemory, type ScanMemory } from "./scan-wasm.ts";

/** Factor by which memory grows. Each growth copies all data about the slots, so it must be rare. */
const GROWTH = 1.5;
const SLOTS_MIN = 1024;
const ERROR_DEVIATIONS = 8;

export class CodeMemory {
  readonly dimensions: number;
  readonly #memory: ScanMemory;
  /** Slot of each row, counted from 1; 0 for a row without a code. */
  #slotOf = new Int32Array(0);
  /** Number of codes, which is also the last slot. */
  size = 0;
  readonly #places = new Map<string, number>();
  readonly #filed: { wing: string; room: string }[] = [];
  #rows = new Float64Array(0);
  #placeOf = new Int32Array(0);
  #scales = new Float32Array(0);
  #scaleMax = 0;

  constructor(dimensions: number) {
    this.dimensions = dimensions;
    this.#memory = createScanMemory(dimensions);
  }

  reserve(slots: number): void {
    if (slots <= this.#rows.length) return;
    const room = Math.max(
      slots,
      Math.min(this.#memory.slotsMax, Math.max(SLOTS_MIN, Math.ceil(this.#rows.length * GROWTH))),
    );
    this.#rows = grown(this.#rows, new Float64Array(room));
    this.#placeOf = grown(this.#placeOf, new Int32Array(room));
    this.#scales = grown(this.#scales, new Float32Array(room));
    this.#memory.reserve(room);
  }

  put(row: number, place: { wing: string; room: string }, code: Uint8Array, scale: number): void {
    if (row >= this.#slotOf.length)
      this.#slotOf = grown(this.#slotOf, new Int32Array(Math.max(SLOTS_MIN, Math.ceil((row + 1) * GROWTH))));
    const slot = this.#slotOf[row] || ++this.size;
    this.reserve(slot + 1);
    this.#slotOf[row] = slot;
    this.#rows[slot] = row;
    this.#placeOf[slot] = this.#placeId(place);
    this.#scales[slot] = scale;
    this.#scaleMax = Math.max(this.#scaleMax, scale);
    this.#memory.codes.set(code, slot * this.dimensions);
  }

  remove(row: number): void {
    const slot = this.#slotOf[row] ?? 0;
    if (slot === 0) return;
    const last = this.size--;
    const lastRow = this.#rows[last] as number;
    this.#rows[slot] = lastRow;
    this.#placeOf[slot] = this.#placeOf[last] as number;
    this.#scales[slot] = this.#scales[last] as number;
    this.#memory.codes.copyWithin(slot * this.dimensions, last * this.dimensions, (last + 1) * this.dimensions);
    this.#slotOf[lastRow] = slot;
    this.#slotOf[row] = 0;
  }

  /** Returns a bound on the error of a product of unit vectors: eight standard deviations of the rounding of both codes. */
  errorMax(query: Code): number {
    return ERROR_DEVIATIONS * Math.sqrt((query.scale ** 2 + this.#scaleMax ** 2) / 12);
  }

  /** Returns the `keep` rows with the largest approximate products, best first. `rows` has a 1 at each row that may be returned. */
  scan(query: Code, filter: PlaceFilter, keep: number, rows?: Uint8Array): Scored[] {
    const allowed = this.#allowedPlaces(filter);
    const best = new BestRows(keep);
    const { slots } = this.#memory;
    this.#memory.query.set(query.code);
    let count = 0;
    for (let slot = 1; slot <= this.size; slot++) {
      if (allowed !== undefined && allowed[this.#placeOf[slot] as number] !== 1) continue;
      if (rows !== undefined && rows[this.#rows[slot] as number] !== 1) continue;
      slots[count++] = slot;
      if (count < BATCH_SLOTS) continue;
      this.#scanBatch(count, best);
      count = 0;
    }
    if (count > 0) this.#scanBatch(count, best);
    return best.take().map(({ row: slot, score }) => ({ row: this.#rows[slot] as number, score: score * query.scale }));
  }

  /** Returns the approximate product of each row, in the given order; NaN for a row without a code. */
  products(query: Code, rows: readonly number[]): number[] {
    const { slots } = this.#memory;
    this.#memory.query.set(query.code);
    const found = rows.map(() => Number.NaN);
    for (let from = 0; from < rows.length; from += BATCH_SLOTS) {
      const batch = rows.slice(from, from + BATCH_SLOTS).map((row) => this.#slotOf[row] ?? 0);
      const known = batch.filter((slot) => slot > 0);
      if (known.length === 0) continue;
      slots.set(known);
      this.#memory.run(known.length);
      const { products } = this.#memory;
      let at = 0;
      batch.forEach((slot, index) => {
        if (slot === 0) return;
        found[from + index] = (products[at++] as number) * (this.#scales[slot] as number) * query.scale;
      });
    }
    return found;
  }

  #scanBatch(count: number, best: BestRows): void {
    const { slots, products } = this.#memory;
    this.#memory.run(count);
    let { worst } = best;
    for (let at = 0; at < count; at++) {
      const slot = slots[at] as number;
      const score = (products[at] as number) * (this.#scales[slot] as number);
      if (score <= worst) continue;
      best.add(slot, score);
      worst = best.worst;
    }
  }

  /** Returns a 1 for each wing and room that pass the filter; undefined if all pass. */
  #allowedPlaces({ wing, wings, room }: PlaceFilter): Uint8Array | undefined {
    if (wing === undefined && room === undefined && wings === undefined) return undefined;
    const isIn = (place: { wing: string; room: string }): boolean =>
      (wing === undefined || place.wing === wing) &&
      (room === undefined || place.room === room) &&
      (wings === undefined || wings.includes(place.wing));
    return Uint8Array.from(this.#filed, (place) => (isIn(place) ? 1 : 0));
  }

  #placeId(place: { wing: string; room: string }): number {
    const key = `${place.wing}\0${place.room}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    this.#places.set(key, this.#filed.length);
    return this.#filed.push(place) - 1;
  }
}

/** A heap of the best scores. Its root is the worst of them. */
class BestRows {
  readonly #keep: number;
  readonly #heap: Scored[] = [];

  constructor(keep: number) {
    this.#keep = keep;
  }

  get worst(): number {
    return this.#heap.length < this.#keep ? Number.NEGATIVE_INFINITY : this.#scoreAt(0);
  }

  add(row: number, score: number): void {
    if (this.#heap.length < this.#keep) this.#rise(this.#heap.push({ row, score }) - 1);
    else if (score > this.worst) {
      this.#heap[0] = { row, score };
      this.#sink(0);
    }
  }

  take(): Scored[] {
    return this.#heap.sort((a, b) => b.score - a.score);
  }

  #rise(from: number): void {
    for (let at = from, parent = (at - 1) >> 1; at > 0; at = parent, parent = (at - 1) >> 1) {
      if (this.#scoreAt(parent) <= this.#scoreAt(at)) return;
      this.#swap(at, parent);
    }
  }

  #sink(from: number): void {
    for (let at = from; ;) {
      const left = 2 * at + 1;
      if (left >= this.#heap.length) return;
      const lesser = left + 1 < this.#heap.length && this.#scoreAt(left + 1) < this.#scoreAt(left) ? left + 1 : left;
      if (this.#scoreAt(at) <= this.#scoreAt(lesser)) return;
      this.#swap(at, lesser);
      at = lesser;
    }
  }

  #scoreAt(at: number): number {
    return (this.#heap[at] as Scored).score;
  }

  #swap(a: number, b: number): void {
    const kept = this.#heap[a] as Scored;
    this.#heap[a] = this.#heap[b] as Scored;
    this.#heap[b] = kept;
  }
}

function grown<T extends Float64Array | Float32Array | Int32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
