/** Reads index_metadata.pickle (palace.md 4.5). A pickle is a program, of which this reader executes only instructions that build data. */

export type PickleDict = Map<string | number, PickleValue>;
export type PickleValue = null | boolean | number | string | PickleValue[] | PickleDict;

export class PickleError extends Error {
  override readonly name = "PickleError";
}

const CLASS = "chromadb.segment.impl.vector.local_persistent_hnsw PersistentData";
/** Maximum size of the stack. Only a hostile pickle needs more. */
const STACK_MAX = 4_000_000;
const MEMO_MAX = 4_000_000;

/** Stack entry that marks the start of a group of values. */
class Mark {}
class ClassName {}
type Item = PickleValue | Mark | ClassName;

const MARK = new Mark();
const PERSISTENT_DATA = new ClassName();

/** Errors: PickleError for all invalid bytes. */
export function readPickle(bytes: Buffer): PickleValue {
  return new Machine(bytes).run();
}

class Machine {
  readonly #bytes: Buffer;
  #at = 0;
  readonly #stack: Item[] = [];
  readonly #memo = new Map<number, Item>();

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  run(): PickleValue {
    for (;;) {
      const opcode = this.#u8();
      if (opcode === 0x2e) break; // STOP
      this.#step(opcode);
      if (this.#stack.length > STACK_MAX) throw new PickleError("it is larger than any index");
    }
    const value = this.#popValue();
    if (this.#stack.length > 0) throw new PickleError("it has more than one value");
    return value;
  }

  // oxlint-disable-next-line max-lines-per-function -- a table with one opcode a line
  #step(opcode: number): void {
    switch (opcode) {
      case 0x80: // PROTO
        if (this.#u8() > 5) throw new PickleError("its protocol is newer than 5");
        return;
      case 0x95: // FRAME
        return void this.#take(8);
      case 0x4e: // NONE
        return this.#push(null);
      case 0x88: // NEWTRUE
        return this.#push(true);
      case 0x89: // NEWFALSE
        return this.#push(false);
      case 0x4a: // BININT
        return this.#push(this.#take(4).readInt32LE());
      case 0x4b: // BININT1
        return this.#push(this.#u8());
      case 0x4d: // BININT2
        return this.#push(this.#take(2).readUInt16LE());
      case 0x8a: // LONG1
        return this.#push(this.#long(this.#u8()));
      case 0x47: // BINFLOAT
        return this.#push(this.#take(8).readDoubleBE());
      case 0x58: // BINUNICODE
        return this.#push(this.#text(this.#u32()));
      case 0x8c: // SHORT_BINUNICODE
        return this.#push(this.#text(this.#u8()));
      case 0x28: // MARK
        return this.#push(MARK);
      case 0x7d: // EMPTY_DICT
        return this.#push(new Map());
      case 0x5d: // EMPTY_LIST
        return this.#push([]);
      case 0x29: // EMPTY_TUPLE
        return this.#push([]);
      case 0x61: // APPEND
        return this.#append([this.#popValue()]);
      case 0x65: // APPENDS
        return this.#append(this.#popToMark());
      case 0x73: {
        // SETITEM
        const value = this.#popValue();
        return this.#setItems([this.#popValue(), value]);
      }
      case 0x75: // SETITEMS
        return this.#setItems(this.#popToMark());
      case 0x71: // BINPUT
        return this.#remember(this.#u8());
      case 0x72: // LONG_BINPUT
        return this.#remember(this.#u32());
      case 0x94: // MEMOIZE
        return this.#remember(this.#memo.size);
      case 0x68: // BINGET
        return this.#recall(this.#u8());
      case 0x6a: // LONG_BINGET
        return this.#recall(this.#u32());
      case 0x63: // GLOBAL
        return this.#class(`${this.#line()} ${this.#line()}`);
      case 0x93: {
        // STACK_GLOBAL
        const name = this.#popValue();
        return this.#class(`${String(this.#popValue())} ${String(name)}`);
      }
      case 0x81: // NEWOBJ
        return this.#newObject();
      case 0x62: // BUILD
        return this.#build();
      default:
        throw new PickleError(`its instruction 0x${opcode.toString(16)} at ${this.#at - 1} makes no data`);
    }
  }

  #push(item: Item): void {
    this.#stack.push(item);
  }

  #pop(): Item {
    const item = this.#stack.pop();
    if (item === undefined) throw new PickleError("its stack is empty");
    return item;
  }

  #popValue(): PickleValue {
    const item = this.#pop();
    if (item instanceof Mark || item instanceof ClassName) throw new PickleError("a value is missing");
    return item;
  }

  #popToMark(): PickleValue[] {
    const at = this.#stack.lastIndexOf(MARK);
    if (at < 0) throw new PickleError("a mark is missing");
    const items = this.#stack.splice(at).slice(1);
    if (items.some((item) => item instanceof ClassName)) throw new PickleError("a value is missing");
    return items as PickleValue[];
  }

  #top(): Item {
    const item = this.#stack.at(-1);
    if (item === undefined) throw new PickleError("its stack is empty");
    return item;
  }

  #append(items: readonly PickleValue[]): void {
    const list = this.#top();
    if (!Array.isArray(list)) throw new PickleError("it appends to a value that is not a list");
    for (const item of items) list.push(item);
  }

  #setItems(items: readonly PickleValue[]): void {
    const dict = this.#top();
    if (!(dict instanceof Map) || items.length % 2 !== 0) throw new PickleError("its dictionary is malformed");
    for (let at = 0; at < items.length; at += 2) {
      const key = items[at];
      if (typeof key !== "string" && typeof key !== "number") throw new PickleError("it has a key of a wrong type");
      dict.set(key, items[at + 1] ?? null);
    }
  }

  #remember(key: number): void {
    if (this.#memo.size >= MEMO_MAX) throw new PickleError("it is larger than any index");
    this.#memo.set(key, this.#top());
  }

  #recall(key: number): void {
    const item = this.#memo.get(key);
    if (item === undefined) throw new PickleError("it refers to a value that it never stored");
    this.#push(item);
  }

  #class(name: string): void {
    if (name !== CLASS) throw new PickleError(`it names the class ${name.slice(0, 100)}`);
    this.#push(PERSISTENT_DATA);
  }

  #newObject(): void {
    const args = this.#popValue();
    if (!Array.isArray(args) || args.length > 0) throw new PickleError("its object has arguments");
    if (this.#pop() !== PERSISTENT_DATA) throw new PickleError("its object has no class");
    this.#push(new Map());
  }

  #build(): void {
    const state = this.#popValue();
    const object = this.#top();
    if (!(state instanceof Map) || !(object instanceof Map)) throw new PickleError("its object has no plain state");
    for (const [key, value] of state) object.set(key, value);
  }

  #take(length: number): Buffer {
    const bytes = this.#bytes.subarray(this.#at, this.#at + length);
    if (bytes.length < length) throw new PickleError("it is cut off");
    this.#at += length;
    return bytes;
  }

  #u8(): number {
    return this.#take(1).readUInt8();
  }

  #u32(): number {
    return this.#take(4).readUInt32LE();
  }

  #text(length: number): string {
    return this.#take(length).toString("utf8");
  }

  #line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end < 0 || end - this.#at > 300) throw new PickleError("a name does not end");
    const text = this.#bytes.toString("utf8", this.#at, end);
    this.#at = end + 1;
    return text;
  }

  /** Reads a two's complement, little-endian integer of `length` bytes. */
  #long(length: number): number {
    if (length > 8) throw new PickleError("a number is too large");
    let value = 0n;
    const bytes = this.#take(length);
    for (let at = length - 1; at >= 0; at--) value = (value << 8n) | BigInt(bytes[at] ?? 0);
    return Number(BigInt.asIntN(length * 8, value));
  }
}
