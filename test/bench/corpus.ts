/** Makes seeded English-like text with Zipf's word frequencies, which the scale benchmarks file. */
import { seededRandom } from "../helpers/random.ts";

const SYLLABLES =
  "ba be bi bo da de di do fa fe ga go ka ke ki la le li lo ma me mi mo na ne no pa pe ra re ri ro sa se si so ta te ti to va ve wa we".split(
    " ",
  );
const WORDS = 20_000;

export class Corpus {
  readonly #random: () => number;
  readonly #words: string[];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#words = Array.from({ length: WORDS }, () => {
      const count = 1 + Math.floor(this.#random() * 4);
      return Array.from({ length: count }, () => SYLLABLES[Math.floor(this.#random() * SYLLABLES.length)]).join("");
    });
  }

  word(): string {
    // Zipf with exponent 1: rank = WORDS^u.
    return this.#words[Math.min(WORDS - 1, Math.floor(WORDS ** this.#random()))] ?? "";
  }

  /** Returns about `characters` characters of words in sentences. */
  text(characters: number): string {
    const parts: string[] = [];
    for (let length = 0; length < characters;) {
      const word = this.word();
      parts.push(parts.length % 12 === 11 ? `${word}.` : word);
      length += word.length + 1;
    }
    return parts.join(" ");
  }

  query(words: number): string {
    return Array.from({ length: words }, () => this.word()).join(" ");
  }
}
