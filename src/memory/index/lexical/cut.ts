/**
 * Cuts words that FTS5's tokenizer does not cut or fold as people search for them:
 *
 * - A word of several scripts is cut where the script changes: `把max`, `Redis를`.
 * - Han, Kana, Hangul, Thai, Lao, Khmer and Burmese become pairs of letters, because their words have no blanks between them.
 * - A letter with several spellings gives several forms of its word: `Größe`, `Grosse`, `Groesse`; `Фёдор`, `Федор`.
 * - An emoji is a word.
 */
import { foldText } from "./fold.ts";

const PAIRED = "\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}\\p{sc=Bopomofo}ー";
const MARKED = "\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}";
const EMOJI = "(?![©®™])\\p{Extended_Pictographic}|\\p{RI}\\p{RI}";
const SPELT = "ßäöüÄÖÜæœøłđıÆŒØŁĐẞ";

/** Matches letters and marks that may need other forms than FTS5's. Without the flag `u` matching takes a tenth of the time. */
const SPECIAL_LETTER = new RegExp(
  `[${SPELT}\\u0300-\\u1fff\\u2c00-\\ud7ff\\ud840-\\ud8bf\\uf900-\\ufdff\\ufe70-\\uffef]`,
);
/** Matches an emoji or another symbol that is not a letter. */
const SIGN = /[\u203c\u2049\u2100-\u2bff\ud83c-\ud83e]/;
const IS_EMOJI = new RegExp(EMOJI, "u");
const WORD = new RegExp(`[\\p{L}\\p{N}\\p{Co}][\\p{L}\\p{N}\\p{M}\\p{Co}]*|${EMOJI}`, "gu");
/** Matches variation selectors, which change only how the symbol before them is drawn. */
const VARIANT = /[\ufe00-\ufe0f]/g;
const PIECE = new RegExp(
  `${EMOJI}|[${PAIRED}]+|[${MARKED}]+|[\\p{sc=Latin}\\p{N}\\u0300-\\u036f]+|(?:(?![${PAIRED}${MARKED}\\p{sc=Latin}])[\\p{L}\\p{M}\\p{N}\\p{Co}])+`,
  "gu",
);
const IS_PAIRED = new RegExp(`^[${PAIRED}${MARKED}]`, "u");
const LETTER = /\P{M}\p{M}*|\p{M}+/gu;
const MARK = /\p{M}/u;

const PLAIN: Readonly<Record<string, string>> = {
  ...{ ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ı: "i" },
  // In Arabic, the forms of ya and ha at the end of a word are folded, and the stroke that only stretches a word is dropped.
  ...{ ى: "ي", ة: "ه", ـ: "" },
};
const PLAIN_LETTER = new RegExp(`[${Object.keys(PLAIN).join("")}]`, "gu");
const UMLAUT: Readonly<Record<string, string>> = { ä: "ae", ö: "oe", ü: "ue" };
/** Matches marks that people leave out when they type, but not the mark of й, which is a letter of its own. */
const DROPPED = /(?<=[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Arabic}\p{sc=Hebrew}]\p{Mn}*)(?!\u0306)\p{Mn}/gu;

/** Piece of the word `whole`. A search for any of the `forms` (not stemmed) finds the piece. `isOwn`: `drawer_fts` lacks `forms[0]`. */
export type CutWord = { whole: string; forms: string[]; isOwn: boolean };

/** Returns true if a word of the text may have other forms than FTS5 gives it. */
export function isSpecial(text: string): boolean {
  return hasSpecialLetter(text) || hasEmoji(text);
}

export function hasSpecialLetter(text: string): boolean {
  return SPECIAL_LETTER.test(text);
}

export function hasEmoji(text: string): boolean {
  return SIGN.test(text) && IS_EMOJI.test(text);
}

/**
 * Cuts a text into words, in order. In scripts without blanks, words become pairs of letters. Unless `isQuestion`, the last letter also
 * becomes a word, so that a question of one letter finds the letter at any position.
 */
export function cutWords(text: string, isQuestion: boolean): CutWord[] {
  const cut: CutWord[] = [];
  for (const whole of wholeWords(text)) {
    if (!isSpecial(whole)) {
      cut.push({ whole, forms: [foldText(whole)], isOwn: false });
      continue;
    }
    const pieces = whole.match(PIECE) ?? [];
    for (const piece of pieces) {
      if (!IS_PAIRED.test(piece)) {
        const forms = formsOfWord(piece);
        cut.push({ whole, forms, isOwn: pieces.length > 1 || MARK.test(piece) || !/[\p{L}\p{N}]/u.test(piece) });
        continue;
      }
      const letters = piece.match(LETTER) ?? [];
      const last = isQuestion && letters.length > 1 ? letters.length - 1 : letters.length;
      for (let at = 0; at < last; at++)
        cut.push({ whole, forms: [`${letters[at]}${letters[at + 1] ?? ""}`], isOwn: true });
    }
  }
  return cut;
}

/** Returns the words and emoji of a text in lower case, before `cutWords` cuts them into pieces. */
export function wholeWords(text: string): string[] {
  return text.toLowerCase().normalize("NFKC").replace(VARIANT, "").match(WORD) ?? [];
}

export function isPaired(word: string): boolean {
  return IS_PAIRED.test(word);
}

/** Returns the first letter of a pair; undefined for any other form. */
export function firstOfPair(form: string): string | undefined {
  if (!IS_PAIRED.test(form)) return undefined;
  const letters = form.match(LETTER) ?? [];
  return letters.length > 1 ? letters[0] : undefined;
}

/** Returns true for a single letter of a script that is cut into pairs. */
export function isLoneLetter(form: string): boolean {
  return IS_PAIRED.test(form) && form.match(LETTER)?.length === 1;
}

/** Returns all forms of a word. The first form is FTS5's own. */
function formsOfWord(word: string): string[] {
  const own = foldText(word);
  if (!isSpecial(word)) return [own];
  const plain = withoutMarks(word);
  const spelt = /[äöü]/.test(word) ? withoutMarks(word.replace(/[äöü]/g, (letter) => UMLAUT[letter] ?? letter)) : plain;
  return [...new Set([own, plain, spelt])].filter((form) => form !== "");
}

function withoutMarks(word: string): string {
  return word
    .normalize("NFD")
    .replace(DROPPED, "")
    .normalize("NFC")
    .replace(PLAIN_LETTER, (letter) => PLAIN[letter] ?? letter);
}
