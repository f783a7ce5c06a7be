/** Finds near-duplicates: drawers with nearly the same words, such as copies, overlapping exports and edited versions. */

/** Minimum share of word pairs that two near-duplicates have in common. */
const ALIKE_MIN = 0.9;
/** Number of hashes in a MinHash sketch. Only in one case of a thousand do two similar texts have fewer than two hashes in common. */
const SKETCH_SIZE = 5;
const SKETCH_SHARED_MIN = 2;

const FNV_START = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Hashes by which two texts are compared. `pairs`: hashes of each word with the word before it; `sketch`: the smallest of these hashes;
 * `numbers`: one hash of all words with a digit, in their order.
 */
export type Fingerprint = { pairs: readonly number[]; sketch: readonly number[]; numbers: number };

/** Computes a fingerprint in one pass without making strings, because a search computes one for each examined drawer. */
export function fingerprintOf(text: string): Fingerprint {
  const pairs: number[] = [];
  let [before, numbers, hash] = [0, 0, 0];
  let hasDigit = false;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    if (isWordCode(code)) {
      if (code >= 48 && code <= 57) hasDigit = true;
      hash = Math.imul((hash === 0 ? FNV_START : hash) ^ lowerCode(code), FNV_PRIME);
    } else if (hash !== 0) {
      hash = stirred(hash);
      pairs.push(stirred(Math.imul(before, FNV_PRIME) ^ hash) >>> 0);
      if (hasDigit) numbers = Math.imul(numbers, FNV_PRIME) ^ hash;
      [before, hash, hasDigit] = [hash, 0, false];
    }
  }
  return { pairs, sketch: smallest(pairs), numbers };
}

/** Returns true for near-duplicates. Returns false if the texts have different numbers, which may be ports or dates. */
export function isNearlySame(a: Fingerprint, b: Fingerprint): boolean {
  const [size, other] = [a.pairs.length, b.pairs.length];
  if (a.numbers !== b.numbers || Math.min(size, other) < ALIKE_MIN * Math.max(size, other)) return false;
  const alike = a.sketch.filter((pair) => b.sketch.includes(pair)).length;
  if (alike < Math.min(SKETCH_SHARED_MIN, a.sketch.length)) return false;
  const [mine, theirs] = [new Set(a.pairs), new Set(b.pairs)];
  let shared = 0;
  for (const pair of mine) if (theirs.has(pair)) shared += 1;
  // Texts without words share no pair, so they do not count as equal.
  return shared > 0 && shared >= ALIKE_MIN * (mine.size + theirs.size - shared);
}

/** Stores texts, each with a value, and finds a stored text that is nearly the same. A lookup compares a text with only a few others. */
export class Folder<T> {
  readonly #bySketch = new Map<number, { fingerprint: Fingerprint; value: T }[]>();

  find(fingerprint: Fingerprint): T | undefined {
    for (const key of keysOf(fingerprint))
      for (const seen of this.#bySketch.get(key) ?? [])
        if (isNearlySame(seen.fingerprint, fingerprint)) return seen.value;
    return undefined;
  }

  add(fingerprint: Fingerprint, value: T): void {
    for (const key of keysOf(fingerprint)) {
      const seen = this.#bySketch.get(key);
      if (seen === undefined) this.#bySketch.set(key, [{ fingerprint, value }]);
      else seen.push({ fingerprint, value });
    }
  }
}

/** Returns keys for lookups. Two near-duplicates have at least one key in common. */
function keysOf({ sketch, numbers }: Fingerprint): number[] {
  return sketch.map((pair) => pair ^ numbers);
}

function smallest(pairs: readonly number[]): number[] {
  const least: number[] = [];
  for (const pair of pairs) {
    if ((least.length === SKETCH_SIZE && pair >= (least.at(-1) as number)) || least.includes(pair)) continue;
    least.push(pair);
    least.sort((a, b) => a - b);
    if (least.length > SKETCH_SIZE) least.pop();
  }
  return least;
}

/** Returns true for letters and digits. Beyond ASCII this is approximate: everything but spaces and punctuation counts. */
function isWordCode(code: number): boolean {
  if (code < 128) return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57);
  return code >= 0xc0 && (code < 0x2000 || code > 0x206f) && (code < 0x3000 || code > 0x303f);
}

function lowerCode(code: number): number {
  return code >= 65 && code <= 90 ? code + 32 : code;
}

/** Mixes the bits. Otherwise short words would get small hashes, and a sketch would have only short words. */
function stirred(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) | 0;
}
