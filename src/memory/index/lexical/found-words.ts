/** Finds the words of a question in a text, for a view that highlights them. */
import { cutWords, firstOfPair, isSpecial } from "./cut.ts";
import { foldText } from "./fold.ts";
import { parseQuery } from "./query.ts";
import { stem } from "./stem.ts";

/** Maps each stem of a word of the question to the word's first stem, which is the `term` of a FoundWord. */
export type Asked = ReadonlyMap<string, string>;
export type FoundWord = { term: string; start: number; end: number };

const WORD = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{M}\p{Co}]*|\p{Extended_Pictographic}|\p{RI}\p{RI}/gu;

export function askedWords(question: string): Asked {
  const { terms, stems } = parseQuery(question);
  return new Map(terms.flatMap((term, at) => (stems[at] ?? []).map((one): [string, string] => [one, term])));
}

/** Returns the question's words in a text, in order. A letter in two pairs (cut.ts cuts Chinese into pairs) belongs to the first pair. */
export function foundWords(text: string, asked: Asked): FoundWord[] {
  const found: FoundWord[] = [];
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (!isSpecial(word)) {
      const term = asked.get(stem(foldText(word)));
      if (term !== undefined) found.push({ term, start: index, end: index + word.length });
      continue;
    }
    const lower = word.toLowerCase();
    let from = 0;
    for (const { forms } of cutWords(word, false)) {
      const [own = ""] = forms;
      const whole = forms.map((form) => asked.get(stem(form))).find((one) => one !== undefined);
      const letter = whole === undefined ? firstOfPair(own) : undefined;
      const term = whole ?? asked.get(letter ?? "");
      const at = lower.indexOf(own, from);
      // The position is unknown if folding changed the word's length, so the whole word is highlighted.
      const [start, end] = at < 0 ? [0, word.length] : [at, at + (letter ?? own).length];
      if (at >= 0) from = at;
      if (term === undefined) continue;
      const begin = Math.max(index + start, found.at(-1)?.end ?? 0);
      if (begin < index + end) found.push({ term, start: begin, end: index + end });
    }
  }
  return found;
}
