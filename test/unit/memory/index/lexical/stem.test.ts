import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { stem } from "../../../../../src/memory/index/lexical/stem.ts";
import { foldText } from "../../../../../src/memory/index/lexical/fold.ts";
import { splitWords, termCounter } from "../../../../../src/memory/index/lexical/tokens.ts";
import { ROOT } from "../../../../helpers/palace.ts";
import { seededRandom } from "../../../../helpers/random.ts";

/** Returns the terms that FTS5 itself makes from each text, in order. */
function tokenizeByFts(texts: readonly string[]): string[][] {
  const database = new Database(":memory:");
  database.exec(`CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61');
    CREATE VIRTUAL TABLE v USING fts5vocab('t', 'instance')`);
  const insert = database.prepare("INSERT INTO t(rowid, x) VALUES (?, ?)");
  database.transaction(() => texts.forEach((text, at) => insert.run(at, text)))();
  const terms = texts.map((): string[] => []);
  const all = database.prepare("SELECT term, doc, offset FROM v").raw().all() as [string, number, number][];
  for (const [term, doc, offset] of all) (terms[doc] as string[])[offset] = term;
  database.close();
  return terms;
}

const SUFFIXES =
  "ational tional enci anci izer logi bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti " +
  "biliti icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent sion tion ion ou ism ate iti " +
  "ous ive ize ed eed ing s ss es ies sses y e ll at bl iz";

function inventWords(count: number, seed: number): string[] {
  const random = seededRandom(seed);
  const pick = (from: readonly string[]): string => from[Math.floor(random() * from.length)] as string;
  const letters = [..."aeiouybcdlstwxz"];
  const suffixes = SUFFIXES.split(" ");
  return Array.from({ length: count }, () => {
    const start = Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(letters)).join("");
    return start + Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(suffixes)).join("");
  });
}

const WORDS = [
  ...inventWords(30_000, 7),
  ...SUFFIXES.split(" "),
  "généralement",
  "naïve",
  "größe",
  "straße",
  "ſtraße",
  "日本語",
  "a",
  "y".repeat(70),
];

test("every word gets the stem that FTS5 gives it", () => {
  const expected = tokenizeByFts(WORDS);
  const wrong = WORDS.filter((word, at) => stem(foldText(word)) !== expected[at]?.join(" "));
  expect(wrong).toEqual([]);
});

test("a word begins with its stem, except perhaps for the stem's last letter", () => {
  expect(WORDS.map(foldText).filter((word) => !word.startsWith(stem(word).slice(0, -1)))).toEqual([]);
});

test.each([
  ["punctuation", "The boats' race—won by Émile's crew (2nd!) in the year 2023; naïve façade, e-mail a_b."],
  ["other scripts", "Привет, мой друг. Ο άνθρωπος. 日本語 テスト"],
  ["a long real text", readFileSync(join(ROOT, "docs/upstream/palace.md"), "utf8")],
])("%s is split and stemmed as FTS5 does it", (_, text) => {
  expect(splitWords(foldText(text)).map(stem)).toEqual(tokenizeByFts([text])[0]);
});

test("the words and pairs of a text are counted in all their forms", () => {
  const count = termCounter(
    [["paint"], ["sunset"], ["parti"]],
    [
      [0, 1],
      [1, 2],
    ],
  );
  expect(count("Painted sunsets. She paints; sunset! Repaint, sunsetting parties a party")).toEqual({
    terms: [2, 3, 2],
    pairs: [2, 1],
  });
  expect(count("paint a sunset")).toEqual({ terms: [1, 1, 0], pairs: [0, 0] });
  expect(termCounter([], [])("anything")).toEqual({ terms: [], pairs: [] });
});

test("a word is counted with and without accents, in NFC and in NFD", () => {
  const count = termCounter([["cafe"]], []);
  expect(count("Café, cafe\u0301, CAFE, décafé").terms).toEqual([3]);
});
