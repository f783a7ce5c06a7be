/** Folds text as FTS5's `unicode61` does. */

/** Matches the blocks of letters with accents or several forms. Dashes and quotes have higher codes and need no folding. */
const ACCENTED = /[\u00b5\u00c0-\u1fff]/;
/** Letters that `unicode61` folds, but NFD does not decompose. */
const OTHER_FORMS: Record<string, string> = { "\u00b5": "μ", ς: "σ", ſ: "s" };

/** Folds to lower case and strips accents from Latin letters. */
export function foldText(text: string): string {
  const lower = text.toLowerCase();
  if (!ACCENTED.test(lower)) return lower;
  return lower
    .replace(/[\u00b5ςſ]/g, (letter) => OTHER_FORMS[letter] ?? letter)
    .normalize("NFD")
    .replace(/(\p{Script=Latin})\p{Mn}+/gu, "$1")
    .normalize("NFC");
}
