/** Finds words that look like names in languages other than English, by the patterns of upstream 3.3.6 and 3.11. */

/** Matches a run of characters that Python counts as letters of a word. `WORD_HI` also matches Hindi's vowel signs. */
const WORD = /[\p{L}\p{N}_]+/gu;
const WORD_HI = /[\p{L}\p{N}_\u0900-\u097f]+/gu;

type Language = { word: RegExp; name: RegExp };

/** Returns the rules of a language in which a name is a capital followed by lower-case letters. */
const cased = (capitals: string, small: string): Language => ({
  word: WORD,
  name: new RegExp(`^[${capitals}][${small}]{1,19}$`, "u"),
});
const ROMANCE = cased("A-ZÀ-ÖØ-Ú", "a-zà-öø-ÿ");

/** Keys are upstream's codes, in lower case. Chinese is left out, because its names are found by a list of surnames. */
const LANGUAGES: Readonly<Record<string, Language>> = {
  be: cased("А-ЯЁІЎ", "а-яёіў"),
  de: cased("A-ZÄÖÜ", "a-zäöüß"),
  es: cased("A-ZÁÉÍÓÚÑÜ", "a-záéíóúñü"),
  fr: cased("A-ZÀÂÄÇÉÈÊËÎÏÔÖÙÛÜŸÆŒ", "a-zàâäçéèêëîïôöùûüÿæœ"),
  hi: { word: WORD_HI, name: /^[\u0900-\u097f]{2,20}$/u },
  // An Indonesian name may also have a capital after the first letter.
  id: { word: WORD, name: /^(?:[A-Z][a-z]{1,19}|[A-Za-z][a-z0-9_]*[A-Z][A-Za-z0-9_]*)$/u },
  it: ROMANCE,
  "pt-br": ROMANCE,
  ru: cased("А-ЯЁ", "а-яё"),
};

export type NameFinder = (text: string) => Iterable<string>;

/** Returns a name finder for each known code, or English's if no code is known. A name in two languages is found twice, as in upstream. */
export function nameFinders(languages: readonly string[], english: NameFinder): NameFinder[] {
  const found = languages.flatMap((code): NameFinder[] => {
    const key = code.trim().toLowerCase();
    if (key === "en") return [english];
    const language = Object.hasOwn(LANGUAGES, key) ? LANGUAGES[key] : undefined;
    return language === undefined ? [] : [(text) => wordsOf(text, language)];
  });
  return found.length === 0 ? [english] : found;
}

function* wordsOf(text: string, { word, name }: Language): Generator<string> {
  for (const [one] of text.matchAll(word)) if (name.test(one)) yield one;
}
