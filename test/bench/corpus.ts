/** Makes seeded English-like text with Zipf's word frequencies, for the scale benchmarks. */
import { readFileSync } from "node:fs";
import { STOP_WORDS } from "../../src/memory/index/lexical/stop-words.ts";
import { seededRandom } from "../helpers/random.ts";

const SYLLABLES =
  "ba be bi bo da de di do fa fe ga go ka ke ki la le li lo ma me mi mo na ne no pa pe ra re ri ro sa se si so ta te ti to va ve wa we".split(
    " ",
  );
const WORDS = 20_000;
/** English words, one per line, roughly by frequency. The file has other tokens too. */
const VOCABULARY = new URL("../../src/memory/index/static/vocab.txt", import.meta.url);
/** Number of made-up words after the English ones. They stand for names and identifiers and make up a tenth of a text. */
const RARE_WORDS = 40_000;

export class Corpus {
  readonly #random: () => number;
  readonly #words: string[];

  /** `isEnglish`: the frequent words are English words, which have static vectors. */
  constructor(seed: number, isEnglish = false) {
    this.#random = seededRandom(seed);
    const english = isEnglish ? (readFileSync(VOCABULARY, "utf8").match(/^[a-z]{2,}$/gm) ?? []) : [];
    const made = Array.from({ length: isEnglish ? RARE_WORDS : WORDS }, () => {
      const count = 1 + Math.floor(this.#random() * 4);
      return Array.from({ length: count }, () => SYLLABLES[Math.floor(this.#random() * SYLLABLES.length)]).join("");
    });
    this.#words = [...english, ...made];
  }

  word(): string {
    // Zipf's law with exponent 1: the rank is length^u for a random u.
    const { length } = this.#words;
    return this.#words[Math.min(length - 1, Math.floor(length ** this.#random()))] ?? "";
  }

  /** Returns sentences of about `characters` characters in all. */
  text(characters: number): string {
    const parts: string[] = [];
    for (let length = 0; length < characters;) {
      const word = this.word();
      parts.push(parts.length % 12 === 11 ? `${word}.` : word);
      length += word.length + 1;
    }
    return parts.join(" ");
  }

  /** Returns words without stop words, because a search skips stop words. */
  query(words: number): string {
    const telling = (): string => {
      for (;;) {
        const word = this.word();
        if (!STOP_WORDS.has(word)) return word;
      }
    };
    return Array.from({ length: words }, telling).join(" ");
  }
}
