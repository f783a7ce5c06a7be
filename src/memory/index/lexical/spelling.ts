/** Corrects misspelled words of a question to words of the palace (source: docs/lab/search-recipe.md, misspelled words). */
import type { Database } from "better-sqlite3";
import { staticTable } from "../static/static-table.ts";
import type { ParsedQuery } from "./query.ts";
import { stem } from "./stem.ts";

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
/** Matches words that may be misspelled. A shorter word is one letter away from too many other words. */
const LETTERS_ONLY = /^[a-z]{5,20}$/;
/** Maximum number of a question's words that are corrected. A question with more is hardly misspelled English. */
const WORDS_MAX = 4;
/** Maximum number of spellings of a word that are looked up, besides usual words. This takes a few milliseconds. */
const LOOKUPS_MAX = 200;
const KEPT_MAX = 1_000;

/** `asked`: the words before the correction. `isCorrected[i]` is true if term i was corrected. */
export type Corrected = ParsedQuery & { asked: readonly string[]; isCorrected: readonly boolean[] };

export class Spelling {
  readonly #known;
  readonly #version;
  /** The correction of each word until the next commit, because a prompt and its sentences have the same words. */
  readonly #kept = new Map<string, string | undefined>();
  #keptVersion: unknown;

  /** `ledger`: must already have the table `drawer_fts_terms` of FtsTable. */
  constructor(ledger: Database) {
    this.#known = ledger.prepare<[string], { term: string; doc: number }>(
      "SELECT term, doc FROM temp.drawer_fts_terms WHERE term IN (SELECT value FROM json_each(?))",
    );
    this.#version = ledger.prepare("PRAGMA data_version").pluck();
  }

  /** Replaces unknown words, except usual English words. `isKnown`: returns true if a drawer's text or name has one of the stems. */
  correct(parsed: ParsedQuery, isKnown: (stems: readonly string[]) => boolean): Corrected {
    const { words, terms, forms, stems } = parsed;
    const unknown = [...words.keys()].filter((at) => {
      const [word, own] = [words[at] as string, stems[at] ?? []];
      return (
        LETTERS_ONLY.test(word) && staticTable().countTokens(word) > 1 && !isKnown(own) && this.#among(own).length === 0
      );
    });
    const better = new Map<number, string>();
    const taken = new Set(terms);
    if (parsed.isPlain && unknown.length <= WORDS_MAX)
      for (const at of unknown) {
        const word = this.#nearest(words[at] as string);
        if (word === undefined || taken.has(stem(word))) continue;
        taken.add(stem(word));
        better.set(at, word);
      }
    const replaced = <T>(list: readonly T[], by: (word: string) => T): T[] =>
      list.map((one, at) => {
        const word = better.get(at);
        return word === undefined ? one : by(word);
      });
    return {
      ...parsed,
      words: replaced(words, (word) => word),
      terms: replaced(terms, stem),
      forms: replaced(forms, (word) => [word]),
      stems: replaced(stems, (word) => [stem(word)]),
      asked: words,
      isCorrected: words.map((_, at) => better.has(at)),
    };
  }

  /** Returns a word of the palace that differs in one letter; undefined if there is none. */
  #nearest(word: string): string | undefined {
    const version = this.#version.get();
    if (version !== this.#keptVersion || this.#kept.size >= KEPT_MAX) this.#kept.clear();
    this.#keptVersion = version;
    if (this.#kept.has(word)) return this.#kept.get(word);
    const table = staticTable();
    const spellings = spellingsOf(word).map((one) => ({ one, tokens: table.countTokens(one) }));
    const usual = spellings.flatMap(({ one, tokens }) => (tokens === 1 ? one : []));
    // Another word is looked up only as it is: its stem may also be the stem of words that do not exist.
    const others = spellings.filter(({ one, tokens }) => tokens > 1 && stem(one) === one);
    others.sort((a, b) => a.tokens - b.tokens).splice(LOOKUPS_MAX);
    const found = this.#mostFrequent(usual) ?? this.#mostFrequent(others.map(({ one }) => one));
    this.#kept.set(word, found);
    return found;
  }

  /** Returns the word that most drawers contain; undefined if no drawer contains any. */
  #mostFrequent(words: readonly string[]): string | undefined {
    const byStem = new Map(words.map((word) => [stem(word), word]));
    const [best] = this.#among([...byStem.keys()]).sort((a, b) => b.doc - a.doc || (a.term < b.term ? -1 : 1));
    return best && byStem.get(best.term);
  }

  #among(stems: readonly string[]): { term: string; doc: number }[] {
    return this.#known.all(JSON.stringify(stems));
  }
}

/** Returns the words with one letter less, more or changed, or with two neighbouring letters swapped. */
function spellingsOf(word: string): string[] {
  const all = Array.from({ length: word.length + 1 }, (_, at) => {
    const before = word.slice(0, at);
    const [after, rest] = [word.slice(at), word.slice(at + 1)];
    const swapped = rest === "" ? [] : [`${before}${rest.charAt(0)}${after.charAt(0)}${rest.slice(1)}`];
    return [
      `${before}${rest}`,
      ...swapped,
      ...LETTERS.flatMap((letter) => [before + letter + after, before + letter + rest]),
    ];
  });
  return [...new Set(all.flat())];
}
