/** Parses a quoted phrase of a question, which a text must contain word for word. */
import { cutWords, isSpecial } from "./cut.ts";
import { foldText } from "./fold.ts";
import { stem } from "./stem.ts";
import { splitWords } from "./tokens.ts";

/** A parsed phrase. `words` are indexed by `drawer_fts`. `pieces` are stems of words that only `form_fts` indexes. */
export type Phrase = { words: string[]; pieces: string[]; isIn: (text: string) => boolean };

export function readPhrase(phrase: string): Phrase {
  const words = splitWords(foldText(phrase));
  const own = isSpecial(phrase) ? cutWords(phrase, true).filter(({ isOwn }) => isOwn) : [];
  const pieces = own.map(({ forms }) => stem(forms[0] as string));
  if (pieces.length > 0) return { words, pieces, isIn: (text) => plain(text).includes(plain(phrase)) };
  const asWords = ` ${words.join(" ")} `;
  return { words, pieces, isIn: (text) => ` ${splitWords(foldText(text)).join(" ")} `.includes(asWords) };
}

function plain(text: string): string {
  return foldText(text.normalize("NFKC")).trim();
}
