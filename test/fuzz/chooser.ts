/** Makes the random choices of one input from one generator: numbers, texts, bytes and unusual JSON. */

/** Strings that often break programs, such as control characters, halves of surrogate pairs, names of JavaScript's properties. */
const STRINGS = [
  "",
  " ",
  "\0",
  "\n",
  "\r\n\r\n",
  "\u2028",
  "\u0085",
  "\ufeff",
  "\ud800",
  "\udc00x",
  "a\ud83d",
  "👩‍👩‍👧‍👦",
  "ﷺ",
  "İ",
  "\u202ertl",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "../../../../etc/passwd",
  "/dev/null",
  "C:\\x",
  "' OR 1=1 --",
  '"; DROP TABLE drawer; --',
  "%00%n%s",
  "${7*7}",
  "NaN",
  "-0",
  "1e309",
  "null",
  "NEAR(a b, 5)",
  'AND OR NOT "',
  "*",
  "a:b",
  "^x",
];

/** Number literals at the limits of a double, an int64 or a parser. */
const NUMBERS = [
  "0",
  "-0",
  "-1",
  "1.5",
  "1e-400",
  "1e308",
  "1e999",
  "-1e999",
  "2147483648",
  "-2147483649",
  "4294967296",
  "9007199254740993",
  "9223372036854775808",
  "1".repeat(400),
  "0.1e-7",
];

/** Key of a JSON object, and its value as JSON text. */
export type Entry = [key: string, json: string];

export class Chooser {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Returns an integer from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.#random() * below);
  }

  /** Returns an integer from `least` to `most`. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  pick<const T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }

  bytes(most: number): Buffer {
    const bytes = Buffer.alloc(this.below(most + 1));
    for (let at = 0; at < bytes.length; at++) bytes[at] = this.below(256);
    return bytes;
  }

  text(): string {
    if (this.chance(0.6)) return this.pick(STRINGS);
    if (this.chance(0.1)) return this.pick(STRINGS).repeat(this.between(100, 3000));
    return String.fromCharCode(...this.some(30, () => this.below(this.chance(0.5) ? 0x80 : 0x1_0000)));
  }

  number(): string {
    return this.chance(0.7) ? this.pick(NUMBERS) : String((this.#random() - 0.5) * 10 ** this.between(-3, 20));
  }

  /** Returns a JSON text. Most are well-formed and at most `depth` levels deep; a few are very deep. */
  json(depth = 3): string {
    switch (this.below(depth > 0 ? 9 : 6)) {
      case 0:
        return this.pick(["null", "true", "false"]);
      case 1:
      case 2:
        return this.number();
      case 3:
      case 4:
        return JSON.stringify(this.text());
      case 5:
        return this.pick(["[]", "{}", '{"toString":1,"valueOf":2}', '{"__proto__":{"isAdmin":true}}', '{"length":-1}']);
      case 6:
        return this.chance(0.03) ? this.#deep() : `[${this.some(4, () => this.json(depth - 1)).join()}]`;
      default:
        return object(this.some(4, () => [this.text(), this.json(depth - 1)]));
    }
  }

  #deep(): string {
    const levels = this.pick([40, 62, 63, 64, 65, 66, 1_000, 20_000]);
    return this.chance(0.5)
      ? "[".repeat(levels) + "]".repeat(levels)
      : `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  }

  /** Changes, drops, doubles and renames some entries, and sometimes adds an unknown one. */
  bent(entries: readonly Entry[], probability: number): Entry[] {
    const result = entries.flatMap((entry): Entry[] => {
      if (!this.chance(probability)) return [entry];
      const wild: Entry = [entry[0], this.json()];
      return this.pick([[wild], [wild], [], [entry, wild], [[this.text(), entry[1]]]]);
    });
    if (this.chance(probability / 2)) result.push([this.text(), this.json()]);
    return result;
  }

  /** Returns the bytes with a few changed, removed or doubled, or without their end. */
  damaged(whole: Buffer): Buffer {
    let bytes = whole;
    for (let times = this.between(1, 3); times > 0; times--) {
      const at = this.below(bytes.length + 1);
      const more = at + this.below(20);
      const cases: (() => Buffer)[] = [
        () => Buffer.concat([bytes.subarray(0, at), this.bytes(8), bytes.subarray(at)]),
        () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(more)]),
        () => Buffer.concat([bytes.subarray(0, more), bytes.subarray(at)]),
        () => bytes.subarray(0, at),
        () => Buffer.concat([bytes.subarray(0, at), this.bytes(1), bytes.subarray(at + 1)]),
      ];
      bytes = this.pick(cases)();
    }
    return bytes;
  }

  /** Cuts bytes into chunks, as a network does. */
  pieces(bytes: Buffer, most: number): Buffer[] {
    const cuts = this.some(most, () => this.below(bytes.length + 1)).sort((a, b) => a - b);
    return [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length));
  }
}

/** Joins entries into a JSON object. A key may occur twice. */
export function object(entries: readonly Entry[]): string {
  return `{${entries.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join()}}`;
}
