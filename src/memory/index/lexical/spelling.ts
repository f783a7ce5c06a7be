/** Corrects misspelled words of a question to words of the palace (source: docs/lab/search-recipe.md, misspelled words). */
import type { Database } from "better-sqlite3";
import { staticTable } from "../static/static-table.ts";
import type { ParsedQuery } from "./query.ts";
import { stem } from "./stem.ts";

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
/** Matches words that may be misspelled. A shorter word is one letter away from too many other words. */
const LETTERS_ONLY = /^[a-z]{5,30}$/;
/** Maximum number of spellings that are looked up for a question, which takes a few milliseconds. Each unknown word has an equal share. */
const LOOKUPS_MAX = 250;

/** `asked`: the words before the correction. `isCorrected[i]` is true if term i was corrected. */
export type Corrected = ParsedQuery & { asked: readonly string[]; isCorrected: readonly boolean[] };

export class Spelling {
  readonly #known;

  /** `ledger`: must already have the table `drawer_fts_terms` of FtsTable. */
  constructor(ledger: Database) {
    this.#known = ledger.prepare<[string], { term: string; doc: number }>(
      "SELECT term, doc FROM temp.drawer_fts_terms WHERE term IN (SELECT value FROM json_each(?))",
    );
  }

  /** Replaces unknown words, except usual English words. `isKnown`: returns true if a drawer's text or name has one of the stems. */
  correct(parsed: ParsedQuery, isKnown: (stems: readonly string[]) => boolean): Corrected {
    const { words, terms, forms, stems, parts } = parsed;
    const unknown = [...words.keys()].filter((at) => {
      const word = words[at] as string;
      return LETTERS_ONLY.test(word) && staticTable().countTokens(word) > 1 && !isKnown(stems[at] ?? []);
    });
    const share = Math.floor(LOOKUPS_MAX / unknown.length);
    const better = new Map(unknown.map((at) => [at, this.#nearest(words[at] as string, share)]));
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
      parts: replaced(parts, () => []),
      asked: words,
      isCorrected: words.map((_, at) => better.get(at) !== undefined),
    };
  }

  /** Returns a word of the palace that differs in one letter. Looks up at most `most` spellings. */
  #nearest(word: string, most: number): string | undefined {
    let left = most;
    // The spellings with the fewest tokens are most like usual words.
    const byTokens = Map.groupBy(spellingsOf(word), (one) => staticTable().countTokens(one));
    for (const [, spellings] of [...byTokens].sort(([a], [b]) => a - b)) {
      const found = this.#mostFrequent(spellings.slice(0, left));
      if (found !== undefined) return found;
      left = Math.max(0, left - spellings.length);
    }
    return undefined;
  }

  /** Returns the word that most drawers contain; undefined if no drawer contains any. */
  #mostFrequent(words: readonly string[]): string | undefined {
    const byStem = new Map(words.map((word) => [stem(word), word]));
    const known = this.#known.all(JSON.stringify([...byStem.keys()]));
    const [best] = known.sort((a, b) => b.doc - a.doc || (a.term < b.term ? -1 : 1));
    return best && byStem.get(best.term);
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
