/** Porter's stemmer exactly as in SQLite's fts5_tokenize.c, so that a word's stem equals the term in the index. */

/** Minimum length of a word that is stemmed, in bytes of UTF-8. */
const SIZE_MIN_BYTES = 3;
const SIZE_MAX_BYTES = 64;

type Rule = readonly [suffix: string, replacement: string];

const STEP_2 = parseRules(
  "ational-ate tional-tion enci-ence anci-ance izer-ize logi-log bli-ble alli-al entli-ent eli-e ousli-ous " +
    "ization-ize ation-ate ator-ate alism-al iveness-ive fulness-ful ousness-ous aliti-al iviti-ive biliti-ble",
);
const STEP_3 = parseRules("icate-ic ative- alize-al iciti-ic ical-ic ful- ness-");
const STEP_4 = parseRules(
  "al- ance- ence- er- ic- able- ible- ant- ement- ment- ent- ou- ism- ate- iti- ous- ive- ize-",
);

/** Returns the stem of a word. `word` is one token in lower case without accents. */
export function stem(word: string): string {
  const bytes = Buffer.from(word);
  if (bytes.length < SIZE_MIN_BYTES || bytes.length > SIZE_MAX_BYTES) return word;
  if (bytes.length === word.length) return stemBytes(word);
  // FTS5 works on bytes, so a letter beyond ASCII counts as several consonants.
  return Buffer.from(stemBytes(bytes.toString("latin1")), "latin1").toString();
}

function stemBytes(word: string): string {
  let result = cutPast(cutPlural(word));
  if (result.endsWith("y") && hasVowel(result.slice(0, -1))) result = `${result.slice(0, -1)}i`;
  result = applyRules(result, STEP_2, 0);
  result = applyRules(result, STEP_3, 0);
  return cutFinal(cutLastSuffix(result));
}

/** Step 1a of Porter's algorithm: cuts plurals. */
function cutPlural(word: string): string {
  if (!word.endsWith("s") || word.endsWith("ss")) return word;
  const two = (word.endsWith("sses") && word.length > 4) || (word.endsWith("ies") && word.length > 3);
  return word.slice(0, two ? -2 : -1);
}

/** Step 1b of Porter's algorithm: cuts "ed" and "ing". The rest may need a final e, or lose one of two equal consonants. */
function cutPast(word: string): string {
  if (word.endsWith("eed") && word.length > 3) return countMeasure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const length = word.endsWith("ed") && word.length > 2 ? 2 : word.endsWith("ing") && word.length > 3 ? 3 : 0;
  const rest = word.slice(0, word.length - length);
  if (length === 0 || !hasVowel(rest)) return word;
  if (/.(?:at|bl|iz)$/s.test(rest)) return `${rest}e`;
  if (/([^aeioulsz])\1$/.test(rest)) return rest.slice(0, -1);
  return countMeasure(rest) === 1 && isShort(rest) ? `${rest}e` : rest;
}

/** Step 4 of Porter's algorithm: cuts the last suffix. */
function cutLastSuffix(word: string): string {
  if (/[st]ion$/.test(word)) {
    const rest = word.slice(0, -3);
    return countMeasure(rest) > 1 ? rest : word;
  }
  return applyRules(word, STEP_4, 1);
}

/** Step 5 of Porter's algorithm: cuts a silent e, or one l of two. */
function cutFinal(word: string): string {
  let result = word;
  if (result.endsWith("e")) {
    const rest = result.slice(0, -1);
    const measure = countMeasure(rest);
    if (measure > 1 || (measure === 1 && !isShort(rest))) result = rest;
  }
  return result.endsWith("ll") && countMeasure(result.slice(0, -1)) > 1 ? result.slice(0, -1) : result;
}

/** Applies only the first rule whose suffix the word has. A word that would become too short stays whole. */
function applyRules(word: string, rules: readonly Rule[], measureAbove: number): string {
  for (const [suffix, replacement] of rules) {
    if (word.length <= suffix.length || !word.endsWith(suffix)) continue;
    const rest = word.slice(0, -suffix.length);
    return countMeasure(rest) > measureAbove ? rest + replacement : word;
  }
  return word;
}

/** Returns Porter's m, the number of changes from a vowel to a consonant. A y after a consonant is a vowel. */
function countMeasure(word: string): number {
  let turns = 0;
  let consonant = false;
  let vowelSeen = false;
  for (let at = 0; at < word.length; at++) {
    const next: boolean = !isVowel(word, at, consonant);
    if (next && !consonant && vowelSeen) turns += 1;
    if (!next) vowelSeen = true;
    consonant = next;
  }
  return turns;
}

/** Returns true for Porter's *o: the word ends in consonant, vowel, consonant, and the last consonant is not w, x or y. */
function isShort(word: string): boolean {
  if (/[wxy]$/.test(word)) return false;
  let consonant = false;
  let pattern = "";
  for (let at = 0; at < word.length; at++) {
    consonant = !isVowel(word, at, consonant);
    pattern += consonant ? "c" : "v";
  }
  return pattern === "cvc" || pattern.endsWith("cvc");
}

function hasVowel(word: string): boolean {
  return /[aeiou]|.y/s.test(word);
}

function isVowel(word: string, at: number, afterConsonant: boolean): boolean {
  const letter = word[at] ?? "";
  return "aeiou".includes(letter) || (afterConsonant && letter === "y");
}

function parseRules(table: string): Rule[] {
  return table.split(" ").map((pair) => pair.split("-") as unknown as Rule);
}
