/** Cuts text into the tokens of the uncased BERT vocabulary (rules: github.com/google-research/bert, tokenization.py). */

/** Maximum length of a word, in letters. A longer word is one unknown token. */
const WORD_MAX = 100;
const UNKNOWN = "[UNK]";
const GOES_ON = "##";
/** Matches control, format, private-use and unassigned characters, but no tabs and line ends. */
const REMOVED = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/gu;
/** Matches a word. A Chinese character or a punctuation mark is a word of its own. */
const WORD =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b820}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]|[!-/:-@[-`{-~\p{P}]|[^\s\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b820}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}!-/:-@[-`{-~\p{P}]+/gu;
const MARKED = /[^\0-\x7f]/;
/** Maximum number of words whose tokens are cached. */
const KNOWN_MAX = 20_000;

export class WordPiece {
  /** Ids of the tokens that begin a word. `#further` has the ids of tokens inside a word; its keys lack the `##`. */
  readonly #first = new Map<string, number>();
  readonly #further = new Map<string, number>();
  readonly #longest: number;
  readonly #unknown: readonly number[];
  readonly #known = new Map<string, readonly number[]>();

  /** `vocabulary`: the tokens in the order of their ids. */
  constructor(vocabulary: readonly string[]) {
    let longest = 0;
    vocabulary.forEach((token, id) => {
      if (token.startsWith(GOES_ON)) this.#further.set(token.slice(GOES_ON.length), id);
      this.#first.set(token, id);
      longest = Math.max(longest, token.length);
    });
    this.#longest = longest;
    this.#unknown = [this.#first.get(UNKNOWN) ?? 0];
  }

  /** Returns the ids of a text's tokens, without the special tokens at its beginning and end. */
  encode(text: string): number[] {
    const ids: number[] = [];
    for (const word of normalize(text).match(WORD) ?? []) for (const id of this.#tokensOf(word)) ids.push(id);
    return ids;
  }

  /** Returns the ids without unknown words. All unknown words share one token. */
  encodeKnown(text: string): number[] {
    return this.encode(text).filter((id) => id !== this.#unknown[0]);
  }

  /** Returns the number of tokens of a lower-case word: 1 for most usual English words. */
  countTokens(word: string): number {
    return this.#cut(word).length;
  }

  #tokensOf(word: string): readonly number[] {
    // A letter has at most two UTF-16 units, so this word is too long. It may be a whole file, so it is not cached.
    if (word.length > 2 * WORD_MAX) return this.#unknown;
    const known = this.#known.get(word);
    if (known !== undefined) return known;
    const tokens = this.#cut(word);
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(word, tokens);
    return tokens;
  }

  /** Cuts a word into tokens: always the longest with which the rest of the word begins. If none fits, the whole word is unknown. */
  #cut(word: string): readonly number[] {
    if (word.length > WORD_MAX && [...word].length > WORD_MAX) return this.#unknown;
    const ids: number[] = [];
    for (let start = 0; start < word.length;) {
      const tokens = start === 0 ? this.#first : this.#further;
      let end = Math.min(word.length, start + this.#longest);
      let id: number | undefined;
      for (; end > start; end--) {
        id = tokens.get(word.slice(start, end));
        if (id !== undefined) break;
      }
      if (id === undefined) return this.#unknown;
      ids.push(id);
      start = end;
    }
    return ids;
  }
}

function normalize(text: string): string {
  const lower = text.toLowerCase();
  if (!MARKED.test(lower)) return lower.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "");
  return lower
    .replace(REMOVED, "")
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
}
